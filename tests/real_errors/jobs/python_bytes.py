def load():
    return bytearray(32 << 30)


data = load()
