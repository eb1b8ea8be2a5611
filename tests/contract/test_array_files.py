"""Arrays in files: the rows that are read are those that were written."""

import numpy as np

from plumbline.contract.array_files import ArrayWriter


def test_rows_of_arrays_come_back_in_any_order() -> None:
    numbers = np.random.default_rng(0).normal(size=(3000, 7)).astype(np.float32)
    with ArrayWriter(np.float32) as writer:
        for start in range(0, 3000, 1000):
            writer.append(numbers[start : start + 1000])
        stored = writer.finish()
    asked = np.array([2999, 0, 17, 17, 1500])
    assert (stored.rows[asked] == numbers[asked]).all()
    assert (stored.rows == numbers).all()
    assert (np.concatenate(list(stored.iterate_blocks())) == numbers).all()
    with ArrayWriter(np.int32) as writer:
        assert len(writer.finish().rows) == 0
