"""Runs on SageMaker: a pipeline becomes a training job, whose restricted files stay in one bucket.

inputs      which files a config names, and the channels by which a job gets them
request     the job as a pure function of config, machine and inventory, and what is wrong with it
preflight   what can be asked before anything is sent, reading alone
upload      channels into the bucket, and their digests read back
buckets     prefixes of buckets as one account's
journal     what is known of each submission, so that none happens twice
jobs        submit, look after and stop
local       the same request carried out on this machine
container   what runs inside of the job
export      aggregate files out of a finished job, by allow-list
teardown    remove what jobs left behind
registry    models of finished jobs, pending a person's approval
service     calls of AWS other than S3, refusals as sentences
"""
