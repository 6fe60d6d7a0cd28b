#!/usr/bin/env python3
"""Writes an OCI image archive, as `ctr images import` and `skopeo` read it.

Each layer is a folder, or a tar archive as it stands. The same input gives the
same bytes: files belong to root, in order of their names, and carry the time
of SOURCE_DATE_EPOCH.
"""
import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import tarfile

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
CREATED = datetime.datetime.fromtimestamp(EPOCH, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def owned_by_root(member):
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = EPOCH
    return member


def tar_of(layer):
    if layer.is_file():
        return layer.read_bytes()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path in sorted(layer.rglob("*")):
            tar.add(path, arcname=path.relative_to(layer), recursive=False, filter=owned_by_root)
    return out.getvalue()


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Blobs(dict):
    """Contents by digest."""

    def put(self, kind, data, **more):
        if not isinstance(data, bytes):
            data = json.dumps(data, sort_keys=True).encode()
        self[digest(data)] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": digest(data), "size": len(data), **more}


def image(args, blobs):
    """Puts layers, configuration and manifest, and returns the index."""
    tars = [tar_of(layer) for layer in args.layer]
    layers = [blobs.put("layer.v1.tar+gzip", gzip.compress(tar, 1, mtime=0)) for tar in tars]
    config = blobs.put("config.v1+json", {
        "architecture": args.architecture,
        "os": "linux",
        "created": CREATED,
        "config": {
            "Entrypoint": args.entrypoint.split(),
            "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
            "User": args.user,
            "Labels": {"org.opencontainers.image.version": args.name.rpartition(":")[2]},
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(tar) for tar in tars]},
        "history": [{"created": CREATED, "created_by": f"hack/images {layer.name}"} for layer in args.layer],
    })
    manifest = blobs.put("manifest.v1+json", {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": layers,
    }, platform={"architecture": args.architecture, "os": "linux"}, annotations={
        "io.containerd.image.name": args.name,
        "org.opencontainers.image.ref.name": args.name.rpartition(":")[2],
    })
    return {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True, help="repository:tag that the image gets when imported")
    parser.add_argument("--layer", required=True, action="append", type=pathlib.Path, help="lowest first; repeatable")
    parser.add_argument("--entrypoint", required=True)
    parser.add_argument("--user", default="0:0")
    parser.add_argument("--architecture", default="amd64")
    parser.add_argument("archive")
    args = parser.parse_args()

    blobs = Blobs()
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": json.dumps(image(args, blobs)).encode()}
    files |= {"blobs/sha256/" + name.partition(":")[2]: data for name, data in blobs.items()}
    with tarfile.open(args.archive, "w") as tar:
        for name, data in sorted(files.items()):
            member = owned_by_root(tarfile.TarInfo(name))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


if __name__ == "__main__":
    main()
