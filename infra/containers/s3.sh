#!/bin/sh
# SeaweedFS as an S3 server: `s3.sh IDENTITIES DATA`. All but S3 listens on loopback, since those ports ask nobody for a key.
# The gateway's gRPC port shares S3's address, and whoever reaches it may name administrators: so it asks for a certificate
# by an authority whose key nobody has.
set -eu
umask 077
mkdir -p /tmp/s3
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=s3 \
  -keyout /tmp/s3/key.pem -out /tmp/s3/certificate.pem 2> /dev/null
cat > /tmp/s3/security.toml <<'TOML'
[grpc]
ca = "/tmp/s3/certificate.pem"
[grpc.s3]
cert = "/tmp/s3/certificate.pem"
key = "/tmp/s3/key.pem"
TOML
exec weed -config_dir=/tmp/s3 -logtostderr=true server -dir="$2" -ip=127.0.0.1 -ip.bind=127.0.0.1 -filer \
  -s3 -s3.ip.bind=0.0.0.0 -s3.port=8333 -s3.config="$1" -s3.localSocket=/tmp/s3/socket \
  -s3.port.iceberg=0 -s3.port.lance=0 -s3.autoCreateBucket=false -s3.allowDeleteBucketNotEmpty=false \
  -master.telemetry=false -master.volumeSizeLimitMB=1024 -volume.max=0
