"""The jobs: RQ names functions by their module, which its workers import."""

import shop


def define(kind):
    def task(marker, **_):
        shop.run(kind, marker)

    task.__name__ = task.__qualname__ = kind
    return task


for kind in ["plain", "multiline", "empty", "unicode", "big", "cause", "twice"]:
    globals()[kind] = define(kind)
