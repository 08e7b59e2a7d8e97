# Networks that PyTorch exported in training mode train on a folder of images, and the loss falls.
/usr/bin/python3 -c 'import numpy, torch, torchvision' 2>/dev/null || { echo "skipped: no python3-torch, python3-torchvision"; exit 77; }
exec /usr/bin/python3 "$2/tests/cli/train_exports.py" "$1"
