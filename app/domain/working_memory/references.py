"""References: the paths, links and tickets that Files & Context must not lose."""

import re
from collections.abc import Iterator
from typing import Final

from app.domain.working_memory.stop_words import word_set
from app.domain.working_memory.wording import CJK

_EXTENSIONS: Final = word_set(
    """
    py pyi pyx ipynb ts tsx mts cts js jsx mjs cjs md mdx rst txt adoc tex yaml yml json jsonl json5 ndjson toml ini cfg
    conf config properties env lock sh bash zsh fish ps1 psm1 cmd bat rs go c h cc cpp cxx hh hpp hxx m mm java kt kts
    scala groovy gradle clj ex exs erl hs ml fs fsx cs vb swift dart lua pl pm rb erb php r jl nim zig vue svelte astro
    html htm xhtml css scss sass less styl xml xsd xsl svg png jpg jpeg gif webp ico bmp tif tiff pdf doc docx xls xlsx
    ppt pptx odt ods odp rtf csv tsv parquet avro orc sql sqlite db proto thrift graphql gql tf tfvars hcl nomad bicep
    jinja j2 tmpl tpl hbs ejs pug log out diff patch zip tar gz tgz bz2 xz 7z rar whl jar war exe dll so dylib wasm
    mp3 mp4 wav ogg flac avi mov mkv webm ttf otf woff woff2 eot plist service timer socket desktop cmake mk bzl bazel
    sol asm s nix dockerfile gitignore pem crt key csr bin dat bak tmp psd ai sketch fig drawio puml mmd ics eml msg
    """
)
# 'e.g', 'U.S', 'a.m': too short to stand for a file without a folder.
_BARE_EXTENSIONS: Final = _EXTENSIONS - word_set("m s ai out fig")
_KNOWN_NAMES: Final = word_set(
    """
    Dockerfile Containerfile Makefile Rakefile Gemfile Procfile Jenkinsfile Vagrantfile Brewfile Justfile Pipfile
    Podfile dockerfile makefile CMakeLists LICENSE LICENCE NOTICE README CHANGELOG CONTRIBUTING CODEOWNERS AUTHORS
    .env .envrc .gitignore .gitattributes .gitmodules .dockerignore .editorconfig .npmrc .nvmrc .bashrc .zshrc .profile
    .prettierrc .eslintrc .babelrc .flake8 .pylintrc .htaccess
    """
)
_KNOWN_FOLDERS: Final = word_set(
    """
    app apps src lib libs tests docs bin etc usr var tmp opt mnt srv dev dist target pkg cmd internal www static assets
    conf config scripts tools vendor node_modules migrations templates examples modules plugins charts k8s log logs
    fixtures api core components utils models views routes handlers controllers middleware hooks styles public common
    shared deploy docker infra terraform helm notebooks
    """
)
_NOT_TICKETS: Final = (
    "UTF-",
    "SHA-",
    "ISO-",
    "GPT-",
    "AES-",
    "RSA-",
    "COVID-",
    "MD-",
    "IPV-",
    "UCS-",
    "H-",
    "A-",
    "B-",
)
_COMMANDS: Final = word_set(
    """
    python python3 pytest node bash sh zsh cat vim nano cd ls rm cp mv git make npm npx yarn pnpm uv pip go cargo docker
    ruff mypy curl wget sudo chmod source run open edit see less tail head grep sed awk
    """
)

_URL: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.\-]{1,15}://[!#-&(-;=?-Z\\_a-z~\[\]]+")
_SPAN: Final = re.compile(r"`([^`\n]+)`")
_LINK: Final = re.compile(r"\]\(<?([^()<>\n]+)>?\)")
_TICKET: Final = re.compile(r"(?:(?<![A-Za-z0-9_/.\-])[A-Z][A-Z0-9]{1,9}-\d+(?:-\d+)?|(?<![&#])#\d+)(?![A-Za-z0-9_/])")
_RUN: Final = re.compile(r"(?:(?<![A-Za-z0-9])[A-Za-z]:(?=[\\/]))?[\w.\\/\-]+")
_SEPARATOR: Final = re.compile(r"[\\/]+")
_ENDING: Final = re.compile(r"(?<=[^.\\/])\.([A-Za-z][A-Za-z0-9]{0,11})$")
_GLUED_ENDING: Final = re.compile(rf"(?<=[^.\\/])\.([A-Za-z][A-Za-z0-9]{{0,11}})(?=[{CJK}])")
_CJK_START: Final = re.compile(rf"[{CJK}]+(?=[A-Za-z0-9._\\/])")
_CJK_END: Final = re.compile(rf"(?<=[A-Za-z0-9_\\/])[{CJK}]+$")
_NO_PATH_SIGNS: Final = re.compile(r"[(){}=<>;|\"'*?$&!,]|\s--?\w|\s{2,}")
_ROOT: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\|/|~/|\.{1,2}[\\/]")


def find_references(text: str) -> list[str]:
    """Return paths, links and tickets as written, each once, in the order of appearance."""
    found = [*_marked(text)]
    rest = _blanked(text, found)
    found += _runs(rest)
    return list(dict.fromkeys(reference for _, _, reference in sorted(found, key=lambda hit: hit[0])))


def comparable_references(text: str) -> frozenset[str]:
    """Return the references in the form in which two spellings of one path are equal; letter case counts."""
    return frozenset(map(comparable, find_references(text)))


def comparable(reference: str) -> str:
    if "://" in reference:
        return reference.rstrip("/")
    network = "//" if reference.startswith("\\\\") else ""
    path = _SEPARATOR.sub("/", reference)
    while path.startswith("./"):
        path = path[2:]
    return network + (path.lstrip("/") if network else path).rstrip("/")


_Hit = tuple[int, int, str]


def _blanked(text: str, hits: list[_Hit]) -> str:
    """Return the text with the hits replaced by as many signs that are part of no reference."""
    parts: list[str] = []
    end = 0
    for start, stop, _ in sorted(hits):
        if start >= end:
            parts += [text[end:start], "\n" * (stop - start)]
            end = stop
    return "".join([*parts, text[end:]])


def _marked(text: str) -> Iterator[_Hit]:
    """Yield what says itself where it ends: links, code spans, addresses and tickets."""
    for match in _LINK.finditer(text):
        target = match.group(1).strip()
        if "://" in target or _is_path_with_spaces(target):
            yield match.start(1), match.end(1), target
    for match in _SPAN.finditer(text):
        target = match.group(1).strip()
        if "://" not in target and _is_path_with_spaces(target):
            yield match.start(), match.end(), target
    for match in _URL.finditer(text):
        address = match.group().rstrip(".,;:!?)]\\")
        yield match.start(), match.start() + len(address), address
    for match in _TICKET.finditer(text):
        if not match.group().startswith(_NOT_TICKETS):
            yield match.start(), match.end(), match.group()


def _is_path_with_spaces(target: str) -> bool:
    if len(target) > 400 or _NO_PATH_SIGNS.search(target):
        return False
    first, *others = target.split(" ")
    if not others:
        return _is_path(target)
    if first in _COMMANDS:
        return False
    return _extension(target) in _EXTENSIONS or (_ROOT.match(target) is not None and len(_segments(target)) > 1)


def _runs(text: str) -> Iterator[_Hit]:
    for match in _RUN.finditer(text):
        for start, run in _unglued(match.group()):
            trimmed = run.rstrip(".-")
            path = trimmed.rstrip("/\\") if len(trimmed) > 1 else trimmed
            if _is_path(path):
                yield match.start() + start, match.start() + start + len(path), path


def _unglued(run: str) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a run that CJK letters glue together, each with its place in the run."""
    start = 0
    for match in _GLUED_ENDING.finditer(run):
        if match.group(1).casefold() in _EXTENSIONS:
            yield _trimmed_start(start, run[start : match.end()])
            start = match.end()
    if start < len(run):
        offset, piece = _trimmed_start(start, run[start:])
        shorter = _CJK_END.sub("", piece)
        yield offset, shorter if shorter.isascii() else piece


def _trimmed_start(offset: int, piece: str) -> tuple[int, str]:
    match = _CJK_START.match(piece)
    if match is None:
        return offset, piece
    rest = piece[match.end() :]
    return (
        (offset + match.end(), rest) if _CJK_END.sub("", rest).isascii() and rest[0] not in "./\\" else (offset, piece)
    )


def _segments(path: str) -> list[str]:
    return [segment for segment in _SEPARATOR.split(path) if segment]


def _extension(path: str) -> str:
    match = _ENDING.search(path[-16:])
    return match.group(1).casefold() if match else ""


def _is_path(path: str) -> bool:
    segments = _segments(path)
    if not segments or not any(character.isalpha() for character in path):
        return False
    if segments[-1] in _KNOWN_NAMES:
        return True
    if "/" not in path and "\\" not in path:
        return _extension(path) in _BARE_EXTENSIONS
    return _is_path_of(segments, path)


def _is_path_of(segments: list[str], path: str) -> bool:
    """Decide for a run with separators: a file in a folder, a rooted path, or a chain of folders that is no prose."""
    inner = [segment for segment in segments if segment.strip(".")]
    if _extension(path):
        return len(segments) > 1 or _ROOT.match(path) is not None
    if len(inner) < 2:
        return False
    if "/" not in path:
        return path.startswith("\\\\") or path[1:2] == ":"
    if len(inner) > 2 or _ROOT.match(path):
        return True
    return inner[0] in _KNOWN_FOLDERS or any(sign in path for sign in ".-_")
