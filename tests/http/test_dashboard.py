from __future__ import annotations

import gzip
import posixpath
import re
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import PurePosixPath

import pytest

from tests.http.nodes import Api
from tocsin.adapters.http.dashboard import PAGES, SURROUNDINGS, load_dashboard
from tocsin.adapters.http.dashboard.assets import STYLE_SHEETS, STYLES
from tocsin.adapters.http.dashboard.documents import content_security_policy

STATIC = files("tocsin.adapters.http.dashboard") / "static"
MOST_SCRIPT = 150_000
"""Bytes of script that go over the wire for all pages together."""

HOST = {"Host": "localhost"}


class Linked(HTMLParser):
    """Collects what a page has a browser fetch, what it waits for, and scripts and styles that are written into it."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.inline: list[dict[str, str | None]] = []
        self.blocking: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.fetched += [value for name in ("src", "href") if (value := given.get(name)) and tag != "a"]
        if given.get("rel") == "stylesheet" or (tag == "script" and "src" in given and given.get("type") != "module"):
            self.blocking.append(given.get("href") or given.get("src"))
        if (tag == "script" and "src" not in given) or tag == "style" or "style" in given or "onclick" in given:
            self.inline.append(given)


def _pattern(path: str) -> str:
    """Write a path of either side with its parameters left out."""
    return re.sub("{.*?}|:[^/]+", "*", path)


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_is_a_document_of_its_own_whatever_its_query_says(api: Api, path: str) -> None:
    async with api.client.get(f"{_pattern(path).replace('*', 'anything')}?q=backup", headers=HOST) as answer:
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert await answer.read() == load_dashboard().pages[path].body


def test_the_pages_that_the_dashboard_knows_are_those_that_survive_a_reload() -> None:
    routes = re.findall(r'path: "([^"]+)".*import\("\./([^"]+)"\)', (STATIC / "routes.js").read_text("utf-8"))

    assert dict(routes) == {_route(path): module for path, module in PAGES.items()}


def _route(path: str) -> str:
    return re.sub("{.*?}", ":id", path)


def test_before_any_script_runs_a_page_shows_the_way_to_all_others() -> None:
    routes = (STATIC / "routes.js").read_text("utf-8")
    navigation = re.findall(r'path: "([^"]+)", nav: "([^"]+)"', routes)

    written = load_dashboard().pages["/jobs/{job_id}"].body.decode()

    links = re.findall(r'<li><a href="([^"]+)"([^>]*)>.*?<span>([^<]+)</span>', written)
    assert [(path, name) for path, _, name in links] == navigation
    assert [path for path, others, _ in links if "aria-current" in others] == ["/jobs"]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_every_module_that_it_needs_fetched_at_once_and_no_other(path: str) -> None:
    modules = load_dashboard().scripts
    named = {"preact": "vendor/preact.mjs", "preact/hooks": "vendor/hooks.mjs", "htm": "vendor/htm.mjs"}
    needed: set[str] = set()
    wanted = {"app.js", PAGES[path]}
    while wanted:
        needed |= wanted
        texts = {name: modules[name].body.decode() for name in wanted}
        wanted = {
            named.get(imported) or posixpath.normpath(posixpath.join(posixpath.dirname(name), imported))
            for name, text in texts.items()
            for imported in re.findall(r'(?<!")from ?"([^"]+)"', text)
        } - needed

    page = load_dashboard().pages[path].body.decode()

    assert re.findall(r'rel="modulepreload" href="/assets/[^/]+/([^"]+)"', page) == sorted(needed)


async def test_two_answers_are_all_that_the_first_paint_waits_for(api: Api) -> None:
    page = Linked()
    page.feed(await _page(api))

    assert page.blocking == [f"/assets/{load_dashboard().digest}/{STYLES}"]
    joined = b"".join((STATIC / name).read_bytes() for name in STYLE_SHEETS)
    assert load_dashboard().files[STYLES].body == joined
    sheets = {f"{folder}/{each.name}" for folder in ("styles", "vendor") for each in (STATIC / folder).iterdir()}
    assert {name for name in sheets if name.endswith(".css")} == set(STYLE_SHEETS)


async def test_the_page_may_run_only_what_its_own_node_serves(api: Api) -> None:
    async with api.client.get("/", headers=HOST) as answer:
        policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["Content-Security-Policy"].split(";"))
        page = Linked()
        page.feed(await answer.text())

    assert policy.pop("script-src") == content_security_policy(await _page(api)).split("script-src ")[1].split(";")[0]
    assert set(policy.values()) == {"'none'", "'self'"}
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert page.inline == [{}, {"type": "importmap"}]
    assert page.fetched
    assert all(address.startswith(f"/assets/{load_dashboard().digest}/") for address in page.fetched)


async def _page(api: Api) -> str:
    async with api.client.get("/", headers=HOST) as answer:
        return await answer.text()


async def test_everything_that_the_page_fetches_is_there(api: Api) -> None:
    page = Linked()
    page.feed(await _page(api))

    for address in [*page.fetched, *re.findall(r'"(/assets/[^"]*)"', await _page(api))]:
        async with api.client.get(address, headers=HOST) as answer:
            assert answer.status == 200, address


def test_every_module_that_is_imported_is_there() -> None:
    modules = load_dashboard().scripts
    for name, asset in modules.items():
        for imported in re.findall(r'(?:from |import\()"(\.[^"]+)"', asset.body.decode()):
            target = re.sub(r"[^/]+/\.\./", "", str(PurePosixPath(name).parent / imported))
            assert re.sub(r"^(?:[^/]+/\.\./)+", "", target) in modules, (name, imported)


async def test_a_file_is_kept_for_ever_under_the_digest_of_all_and_the_page_is_asked_for_again(api: Api) -> None:
    digest = load_dashboard().digest
    async with (
        api.client.get(f"/assets/{digest}/app.js", headers=HOST) as file,
        api.client.get("/", headers=HOST) as page,
    ):
        assert file.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert file.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert page.headers["Cache-Control"] == "no-cache"


async def test_under_another_nodes_digest_there_is_this_nodes_file_which_is_not_kept(api: Api) -> None:
    async with api.client.get("/assets/0123456789abcdef/app.js", headers=HOST) as answer:
        assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-cache")


@pytest.mark.parametrize("path", ["/", "/assets/0123456789abcdef/app.js"])
async def test_what_a_browser_has_is_not_sent_again(api: Api, path: str) -> None:
    async with api.client.get(path, headers=HOST) as answer:
        tag = answer.headers["ETag"]
    for given, status in [(tag, 304), (f'"x", W/{tag}', 304), ('"x"', 200)]:
        async with api.client.get(path, headers={**HOST, "If-None-Match": given}) as answer:
            assert answer.status == status
            assert bool(await answer.read()) == (status == 200)


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [
        ("gzip, deflate, br", True),
        ("br;q=1, GZIP;q=0.5", True),
        ("identity", False),
        ("gzip;q=0, br", False),
        ("", False),
    ],
)
async def test_files_are_compressed_for_whoever_reads_that(api: Api, accepted: str, is_compressed: bool) -> None:  # noqa: FBT001 - a column
    headers = {**HOST, "Accept-Encoding": accepted}
    async with api.client.get("/assets/x/app.js", headers=headers, auto_decompress=False) as answer:
        body = await answer.read()
        assert (answer.headers.get("Content-Encoding") == "gzip") is is_compressed
        assert answer.headers["Vary"] == "Accept-Encoding"
    assert (gzip.decompress(body) if is_compressed else body) == (STATIC / "app.js").read_bytes()


@pytest.mark.parametrize("name", ["nothing.js", "index.html", "vendor/VENDORED", "../assets.py", "%2e%2e/assets.py"])
async def test_what_is_no_file_of_it_is_a_404(api: Api, name: str) -> None:
    answer = await api.client.get(f"/assets/x/{name}", headers=HOST)

    assert answer.status == 404
    assert (await answer.json())["code"] == "NOT_FOUND"


def test_all_scripts_together_stay_small() -> None:
    assert sum(len(asset.compressed or asset.body) for asset in load_dashboard().scripts.values()) < MOST_SCRIPT


def test_nothing_is_asked_of_another_host() -> None:
    for name, asset in load_dashboard().files.items():
        if not name.startswith("vendor/") and asset.media_type.startswith("text/"):
            assert not re.search(rb"(?:from|import|fetch|src|href|url\()\W{0,3}(?:https?:)?//", asset.body), name


def test_what_is_of_others_is_as_they_published_it_and_says_under_which_licence() -> None:
    told = (STATIC / "vendor" / "VENDORED").read_text("utf-8").splitlines()
    listed = {fields[3]: fields[-1] for line in told if len(fields := line.split()) == 7}

    carried = {f"{folder}/{entry.name}" for folder in ("vendor", "fonts") for entry in (STATIC / folder).iterdir()}
    files_only = {name for name in carried if not name.endswith((".LICENSE", "VENDORED"))}
    assert set(listed) == files_only
    for name, digest in listed.items():
        assert sha256((STATIC / name).read_bytes()).hexdigest() == digest, name
    assert {name for name in carried if name.endswith(".LICENSE")} == {
        "vendor/preact.LICENSE",
        "vendor/htm.LICENSE",
        "vendor/uplot.LICENSE",
        "fonts/inter.LICENSE",
    }


async def test_a_dashboard_is_told_where_traces_are_shown(api: Api) -> None:
    async with api.client.get(SURROUNDINGS, headers=HOST) as answer:
        assert (answer.status, await answer.json()) == (200, {"trace_url": None})
