"""Hosts: what counts as one, what its shape forgets and keeps, and how files are divided among splits."""

from __future__ import annotations

import ast
import json
import textwrap
from types import SimpleNamespace

import pytest

from sm_ops.core.errors import InputError
from sm_ops.data.hosts import MIN_STATEMENTS, Host, find_hosts, shape, source_files, units
from sm_ops.data.partition import partition, preferred_split

pytestmark = pytest.mark.unit

BODY = "\n".join(f"    x{i} = f{i}(a)" for i in range(8))


def settings(hosts, min_chars=0, max_chars=2000):
    return SimpleNamespace(hosts=str(hosts), min_chars=min_chars, max_chars=max_chars)


@pytest.mark.parametrize(
    "same",
    [
        "def g(b):\n  'Doc.'\n  return b.d + 2",
        "def f(a):  # note\n    return (a.c +\n            1)",
        "def f(a):\n    return a.c + None",
        "def f(a):\n    return a.c + u'x'",
    ],
)
def test_shape_forgets_names_constants_docstrings_and_layout(same):
    assert shape(same) == shape("def f(a):\n    return a.c + 1")


@pytest.mark.parametrize(
    "other",
    ["def f(a):\n    return a.c - 1", "def f(a, b):\n    return a.c + 1", "def f(a=0):\n    return a.c + 1",
     "def f(a):\n    return a + 1", "async def f(a):\n    return a.c + 1", "def f(a):\n    a\n    return a.c + 1"],
)
def test_shape_keeps_structure(other):
    assert shape(other) != shape("def f(a):\n    return a.c + 1")


def test_shape_forgets_every_string_of_the_tree():
    one = textwrap.dedent("""
        import a.b as c
        from d import e
        global f
        try:
            g(h=1)
        except I as j:
            pass
        match k:
            case L(m=n) | {'o': 1, **p} | [*q]:
                pass
    """)
    names = {name: f"{name}{name}x" for name in "abcdefghIjkLmnpq"}
    other = ast.unparse(_Rename(names).visit(ast.parse(one)))
    assert other != ast.unparse(ast.parse(one))
    assert shape(one) == shape(other)


class _Rename(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def generic_visit(self, node):
        for field, value in ast.iter_fields(node):
            if isinstance(value, str):
                setattr(node, field, ".".join(self.names.get(part, part) for part in value.split(".")))
            elif isinstance(value, list):
                setattr(node, field, [self.names.get(v, v) if isinstance(v, str) else v for v in value])
        return super().generic_visit(node)


def test_units_are_the_module_its_functions_and_its_methods_dedented():
    function = "@d\ndef f(a):\n\treturn a\n"
    method = "    def m(self):\n\n        return '''é\n        '''\n"
    text = f"import x\n\n{function}\nclass C:\n    v = 1\n\n{method}"
    found = units(text)
    assert [(unit.name, unit.is_module) for unit in found] == [("", True), ("f", False), ("C.m", False)]
    assert found[0].source == text
    assert found[1].source == function
    assert found[2].source == "def m(self):\n\n    return '''é\n    '''\n"


def test_units_keep_line_ends_tabs_and_form_feeds():
    text = "def f(a):\r\n\tb = '\x0c'\r\n\treturn b\r\n"
    assert units(text)[1].source == text


def test_units_leave_out_what_cannot_stand_alone():
    text = "class C:\n    def m(self):\n        return '''\nleft of the method'''\n"
    assert [unit.name for unit in units(text)] == [""]
    assert units("def f(:\n") == []
    assert units("return 1\n") == []  # parses, but does not compile
    assert units("x = '\x00'\n") == []


def test_statements_are_counted_recursively_without_docstrings():
    loop = "    if a:\n        for b in a:\n            b += 1\n"
    text = f"def f(a):\n    'Doc.'\n{loop}    def g():\n        'Doc.'\n        return 1\n"
    module, function = units(text)
    assert function.statements == 5  # if, for, b += 1, def g, return
    assert module.statements == 6


def write(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text, newline="")


def test_hosts_are_large_enough_within_limits_and_of_one_shape_each(tmp_path):
    twin = textwrap.indent(f"def twin(a):\n{BODY}".replace("x", "y"), "    ")
    short = "def short(a):\n" + "\n".join(BODY.split("\n")[:7])
    pad = "# pad\n" * 60
    write(tmp_path, b=f"class C:\n{twin}\n{pad}", a=f"{short}\n\ndef f(a):\n{BODY}\n{pad}", sub__c="x = 1\n")
    (tmp_path / "latin.py").write_bytes("x = 'é'\n".encode("latin-1"))
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "h.py").write_text(f"def h(a):\n{BODY}\n    return a\n")
    found, counts = find_hosts(settings(tmp_path, max_chars=300))
    assert [(host.file, host.name) for hosts in found.values() for host in hosts] == [("a.py", "f")]
    assert counts == {"host_files": 3, "hosts": 1, "hosts_too_short": 2, "shape_collisions": 1}
    assert MIN_STATEMENTS == 8


def test_a_small_module_is_one_host(tmp_path):
    write(tmp_path, pkg__small=f"import x\n\ndef f(a):\n{BODY}\n")
    found, _ = find_hosts(settings(tmp_path))
    (host,) = found["pkg/small.py"]
    assert (host.name, host.source[:9]) == ("small", "import x\n")


def test_hosts_of_the_same_text_in_two_files_collide(tmp_path):
    write(tmp_path, a=f"def f(a):\n{BODY}\n", b=f"def f(a):\n{BODY}\n")
    found, counts = find_hosts(settings(tmp_path))
    assert list(found) == ["a.py"]
    assert counts["shape_collisions"] == 1


def test_hosts_from_records(tmp_path):
    path = tmp_path / "code.jsonl"
    path.write_text(json.dumps({"id": "x/y.py", "text": f"def f(a):\n{BODY}\n"}) + "\n")
    found, _ = find_hosts(settings(path))
    assert found["x/y.py"][0].name == "y"
    path.write_text(json.dumps({"id": "a", "text": "abc", "spans": [{"start": 0, "end": 1, "label": "l"}]}) + "\n")
    with pytest.raises(InputError, match="hosts-labelled"):
        list(source_files(str(path)))
    with pytest.raises(InputError, match="hosts-missing"):
        list(source_files(str(tmp_path / "nowhere")))


def test_the_standard_library_is_used_without_its_tests_and_tables():
    paths = [file.path for file in source_files(None)]
    assert paths == sorted(paths)
    assert "json/decoder.py" in paths
    assert not [path for path in paths if {"test", "tests", "site-packages", "encodings"} & set(path.split("/"))]
    assert not [path for path in paths if "sysconfigdata" in path or path.startswith("config-")]


def hosts_of(sizes):
    files = {f"f{i}.py": size for i, size in enumerate(sizes)}
    return {file: [Host(file, f"h{j}", "", f"{file}-{j}") for j in range(size)] for file, size in files.items()}


def files_of(hosts):
    return {host.file for host in hosts}


def test_partition_gives_each_split_its_hosts_and_each_file_one_split():
    needs = {"train": 60, "calibration": 20, "utility": 20, "reference": 20}
    taken = partition(hosts_of([3] * 100), needs, seed=0)
    assert taken is not None
    assert {split: len(hosts) for split, hosts in taken.items()} == needs
    files = [files_of(hosts) for hosts in taken.values()]
    assert sum(map(len, files)) == len(set().union(*files))
    assert len({host.shape for hosts in taken.values() for host in hosts}) == 120


def test_enlarging_one_split_leaves_the_others_alone():
    found = hosts_of([3] * 200)
    needs = {"train": 40, "calibration": 20, "utility": 20, "reference": 20}
    small, large = partition(found, needs, 1), partition(found, {**needs, "train": 90}, 1)
    assert small
    assert large
    assert all(small[split] == large[split] for split in ("calibration", "utility", "reference"))
    assert small["train"][:39] == large["train"][:39]


def test_partition_borrows_files_and_takes_more_of_a_file_only_when_it_must():
    assert partition(hosts_of([1, 1, 1, 1]), {"train": 1, "calibration": 1, "utility": 1, "reference": 1}, 0)
    few = partition(hosts_of([40] * 4), {"train": 40, "calibration": 33}, 0)
    assert few
    assert [len(few[split]) for split in few] == [40, 33]
    many = partition(hosts_of([40] * 20), {"train": 16}, 0)
    assert many
    assert len(files_of(many["train"])) == 2
    assert partition(hosts_of([40]), {"train": 1, "calibration": 1}, 0) is None
    assert partition({}, {"train": 1}, 0) is None


def test_shares_are_kept_roughly():
    splits = [preferred_split(0, f"{i}.py") for i in range(2000)]
    assert 0.26 < splits.count("train") / 2000 < 0.34
    assert 0.09 < splits.count("calibration") / 2000 < 0.15
