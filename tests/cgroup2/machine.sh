#!/bin/bash
# Starts a virtual machine with Debian's kernel, whose memory controller is that of cgroup v2, and runs inside.sh in it.
#   machine.sh PLIMSOLL WORK       WORK: a folder for the kernel and the machine's files; exit code 0: every check passed
# QEMU emulates the processor: no KVM, no privileges, about two minutes. On a busy machine its timer is late: the kernel does not
# check it.
set -euo pipefail
program=$(realpath "$1") here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
work=$(realpath "$2")
"$here/../../scripts/setup.sh" qemu-system-x86 busybox-static cpio
cd "$work"

# The kernel: its package is unpacked here and not installed.
if ! ls kernel/boot/vmlinuz-* > /dev/null 2>&1; then
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
    apt-get download -qq "$package"
    dpkg-deb -x "$package"_*.deb kernel
    rm -f "$package"_*.deb
fi

# The machine's files: busybox, the program and its libraries, models and the checks.
rm -rf root
mkdir -p root/{bin,proc,sys,dev,tmp,work,lib64}
cp /bin/busybox root/bin/
ldd "$program" | grep -o '/[^ ]*' | sort -u | while read -r library; do
    mkdir -p "root$(dirname "$library")"
    cp -L "$library" "root$library"
done
cp "$program" root/bin/plimsoll
cp "$here/inside.sh" root/init
"$program" zoo mlp --width 1024 -o root/work/model.onnx > /dev/null
"$program" zoo lenet -o root/work/lenet.onnx > /dev/null
(cd root && find . | cpio -o -H newc --quiet) > files.cpio

timeout "${MACHINE_SECONDS:-1800}" qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 1500 -nographic -no-reboot -nic none -kernel kernel/boot/vmlinuz-* \
    -initrd files.cpio -append "console=ttyS0 quiet panic=-1 loglevel=3 no_timer_check" < /dev/null > console.txt 2>&1 || true
tr -d '\r' < console.txt | sed -n 's/^log: //p' > kernel.log # what the kernel said of the kill: tests/diagnose/real has one of these
tr -d '\r' < console.txt | grep -aE '^(ok|FAILED|note|done|  \|)' || true
grep -aq '^done: 0 failed' <(tr -d '\r' < console.txt) || { echo "see $work/console.txt"; exit 1; }
