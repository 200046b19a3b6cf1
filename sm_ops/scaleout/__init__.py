"""Tasks whose results are files, run by processes of this machine or by Ray on many; the one home of ray."""
