#!/usr/bin/env python3
"""`healthy.py URL`: exit code 0 where the address answers with a status below 400 within five seconds."""

import sys
from urllib.error import URLError
from urllib.request import urlopen

try:
    urlopen(sys.argv[1], timeout=5)
except (URLError, OSError) as error:
    sys.exit(f"{sys.argv[1]}: {error}")
