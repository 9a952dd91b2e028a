"""Objects are named by their content, stored once, and checked when they are read."""

import hashlib

import pytest

from rewardsmith.errors import RunFolderError
from rewardsmith.services.journal.objects import ObjectStore


@pytest.fixture
def store(tmp_path):
    return ObjectStore(tmp_path / "run" / "objects")


def files_in(store):
    return [path for path in store.folder.rglob("*") if path.is_file()]


def test_bytes_come_back_under_their_hash(store):
    ref = store.put_bytes(b"weights")
    assert ref == hashlib.sha256(b"weights").hexdigest()
    assert store.path(ref) == store.folder / ref[:2] / ref
    assert store.get_bytes(ref) == b"weights"


def test_json_comes_back_and_its_order_does_not_matter(store):
    ref = store.put_json({"b": [1, None], "a": 0.1})
    assert store.get_json(ref) == {"a": 0.1, "b": [1, None]}
    assert store.put_json({"a": 0.1, "b": [1, None]}) == ref


def test_equal_content_is_stored_once_and_leaves_nothing_else(store, tmp_path):
    (tmp_path / "file").write_bytes(b"same")
    refs = {store.put_bytes(b"same"), store.put_bytes(b"same"), store.put_file(tmp_path / "file")}
    assert files_in(store) == [store.path(refs.pop())]


@pytest.mark.parametrize("move", [False, True])
def test_a_file_is_copied_or_moved(store, tmp_path, move):
    source = tmp_path / "policy.zip"
    source.write_bytes(b"policy")
    assert store.get_bytes(store.put_file(source, move=move)) == b"policy"
    assert source.exists() != move
    assert len(files_in(store)) == 1


def test_objects_are_as_readable_as_the_umask_allows(store, tmp_path):
    (tmp_path / "plain").touch()
    assert store.path(store.put_bytes(b"x")).stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_damaged_object_is_refused_and_a_shortened_one_can_be_put_again(store):
    ref = store.put_bytes(b"whole")
    store.path(ref).write_bytes(b"who")
    with pytest.raises(RunFolderError, match="damaged"):
        store.get_bytes(ref)
    store.put_bytes(b"whole")
    assert store.get_bytes(ref) == b"whole"


def test_an_object_that_is_not_json_is_refused_as_such(store):
    with pytest.raises(RunFolderError, match="not JSON"):
        store.get_json(store.put_bytes(b"{"))


def test_a_missing_object_is_refused(store):
    with pytest.raises(RunFolderError, match="cannot read the object"):
        store.get_bytes("0" * 64)


@pytest.mark.parametrize("ref", ["", "abc", "../../../etc/passwd", "A" * 64, "0" * 65, "0" * 64 + "\n"])
def test_what_is_no_reference_never_becomes_a_path(store, ref):
    with pytest.raises(RunFolderError, match="not an object reference"):
        store.path(ref)
