"""Makes tests/format/data/npy with the real NumPy. Every array is (2, 3, 4) with element k equal to k - 5 where
the type is signed, k otherwise, k % 2 for bool, and k - 5 + (2k)j for complex; k counts in C order."""
import pathlib
import numpy as np

here = pathlib.Path(__file__).parent / "data" / "npy"
here.mkdir(parents=True, exist_ok=True)
k = np.arange(24).reshape(2, 3, 4)
for code in "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split():
    values = {"b": k % 2, "u": k, "c": (k - 5) + 2j * k}.get(code[0], k - 5).astype(code)
    for order in "<>":
        for layout in "CF":
            array = np.array(values, dtype=order + code, order=layout)
            name = f"{code}-{'little' if order == '<' else 'big'}-{layout}.npy"
            np.save(here / name, array)
for version in (1, 2, 3):
    with open(here / f"version-{version}.npy", "wb") as file:
        np.lib.format.write_array(file, (k - 5).astype("<f4"), version=(version, 0))
np.save(here / "scalar.npy", np.float32(7))
np.save(here / "vector.npy", np.arange(5, dtype="<i4"))
np.save(here / "empty.npy", np.zeros((0, 7), dtype="<f8"))
np.save(here / "rank-8.npy", np.arange(256, dtype="<u2").reshape((2,) * 8))
np.save(here / "rank-9.npy", np.zeros((1,) * 9, dtype="<u1"))
np.save(here / "text.npy", np.array(["plimsoll", "line"]))
np.save(here / "dates.npy", np.array(["2020-01-01"], dtype="M8[ns]"))
np.save(here / "objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
np.save(here / "records.npy", np.zeros(3, dtype=[("a", "<f4"), ("b", "<i2")]))
