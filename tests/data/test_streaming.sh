# A text file and an array of 3 GB are read with little memory, wherever in them the samples lie.
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
command -v python3 >/dev/null || exit 77

# No disk is taken: the files are holes but for a few bytes.
truncate -s 3G "$folder/large.txt" || exit 77
python3 - "$folder/large.npy" <<'END' || exit 77
import sys
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (786432, 1024), }"
header += " " * (63 - (len(header) + 10) % 64) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    file.truncate(10 + len(header) + 786432 * 1024 * 4)
END

check() { # NAME KIND LEAST_SAMPLES
    python3 - "$program" "$folder/$1" "$2" "$3" <<'END'
import json, resource, subprocess, sys
program, path, kind, least = sys.argv[1:]
done = subprocess.run([program, "data", path, "--kind", kind, "--batch", "64", "--seconds", "0.5", "--json"],
                      capture_output=True, text=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
if done.returncode: sys.exit(f"failed: {done.stderr}")
said = json.loads(done.stdout)
assert said["samples"] >= int(least), said["samples"]
assert said["measured_samples"] >= 64, said
assert peak < 200 << 20, f"{peak} bytes resident"
print(f"{kind}: {said['samples']} samples, {peak >> 20} MiB resident")
END
}
check large.txt text 12000000 && check large.npy npy 786432
