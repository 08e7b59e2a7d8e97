"""Shared libraries in place of the GPU libraries that a PyTorch wheel names, so that it can be imported for the processor
alone: stub_libraries.py TORCH_FOLDER STUB_FOLDER. Every function in them fails as it does without a device."""
import os
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout


torch, stubs = sys.argv[1:]
os.makedirs(stubs, exist_ok=True)
library = os.path.join(torch, "lib")
needed, symbols = set(), set()
for name in os.listdir(library):
    if ".so" not in name:
        continue
    path = os.path.join(library, name)
    needed.update(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", path)))
    symbols.update(re.findall(r" U ((?:_*)(?:cu|nv|nccl|Cu)\w+)(?:@|$)", output("nm", "-D", "--undefined-only", path), re.M))
source = "".join(f"int {symbol}(void) {{ return 100; }}\n" for symbol in sorted(symbols))
missing = [name for name in sorted(needed - set(os.listdir(library))) if re.match(r"lib(cu|nv|nccl)", name)]
# The functions stand in a library of another name, to be preloaded: the loader insists on versions in one that is named.
for name, body in [("symbols.so", source)] + [(name, "") for name in missing]:
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", os.path.join(stubs, name), f"-Wl,-soname,{name}", "-x", "c", "-"],
                   input=body, text=True, check=True)
