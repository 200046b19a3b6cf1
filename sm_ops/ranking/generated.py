"""Generated pairs, for a first look without any file: a small task in Python, done safely and done insecurely.

A task is a group: its pairs differ in names alone. They show how the flow works and nothing about models: both halves
come from the same hand and the risky one is recognisable by a few words.
"""

from __future__ import annotations

from collections.abc import Iterator

from sm_ops.ranking.pairs import Material, Pair

NOUNS = ("order", "invoice", "ticket", "parcel", "booking", "article", "account", "report")

TASKS = {
    "query": (
        "Look up a {0} by its name.",
        "def find_{0}(db, name):\n    return db.execute('SELECT * FROM {0}s WHERE name = ?', (name,)).fetchone()\n",
        "def find_{0}(db, name):\n    return db.execute(f\"SELECT * FROM {0}s WHERE name = '{{name}}'\").fetchone()\n",
    ),
    "command": (
        "Print the {0} file.",
        "def print_{0}(path):\n    return subprocess.run(['lpr', path], check=True)\n",
        "def print_{0}(path):\n    return subprocess.run('lpr ' + path, shell=True)\n",
    ),
    "load": (
        "Load a stored {0}.",
        "def load_{0}(path):\n    with open(path) as file:\n        return json.load(file)\n",
        "def load_{0}(path):\n    with open(path, 'rb') as file:\n        return pickle.load(file)\n",
    ),
    "yaml": (
        "Read the settings of a {0}.",
        "def {0}_settings(text):\n    return yaml.safe_load(text)\n",
        "def {0}_settings(text):\n    return yaml.load(text, Loader=yaml.Loader)\n",
    ),
    "digest": (
        "Make a digest of a {0}.",
        "def {0}_digest(data):\n    return hashlib.sha256(data).hexdigest()\n",
        "def {0}_digest(data):\n    return hashlib.md5(data).hexdigest()\n",
    ),
    "code": (
        "Make a code for a {0} that nobody guesses.",
        "def {0}_code():\n    return secrets.token_hex(16)\n",
        "def {0}_code():\n    return str(random.randint(0, 999999))\n",
    ),
    "fetch": (
        "Fetch a {0} from the server.",
        "def fetch_{0}(url):\n    return requests.get(url, timeout=10).json()\n",
        "def fetch_{0}(url):\n    return requests.get(url, verify=False).json()\n",
    ),
    "open": (
        "Open an uploaded {0} by its name.",
        "def open_{0}(folder, name):\n    return open(folder / Path(name).name)\n",
        "def open_{0}(folder, name):\n    return open(str(folder) + '/' + name)\n",
    ),
    "value": (
        "Work out a formula of a {0}.",
        "def {0}_value(text):\n    return ast.literal_eval(text)\n",
        "def {0}_value(text):\n    return eval(text)\n",
    ),
    "compare": (
        "Check the token of a {0}.",
        "def check_{0}(given, known):\n    return hmac.compare_digest(given, known)\n",
        "def check_{0}(given, known):\n    return given == known\n",
    ),
    "page": (
        "Show the title of a {0} on a page.",
        "def {0}_title(title):\n    return '<h1>' + html.escape(title) + '</h1>'\n",
        "def {0}_title(title):\n    return '<h1>' + title + '</h1>'\n",
    ),
    "write": (
        "Write a {0} for its owner alone.",
        "def write_{0}(path, text):\n    path.write_text(text)\n    path.chmod(0o600)\n",
        "def write_{0}(path, text):\n    path.write_text(text)\n    path.chmod(0o777)\n",
    ),
}


def generate() -> Material:
    """All pairs, a prompt with each."""
    return Material(list(_pairs()))


def _pairs() -> Iterator[Pair]:
    for task, (prompt, safe, risky) in TASKS.items():
        for noun in NOUNS:
            yield Pair(f"{task}-{noun}", task, safe.format(noun), risky.format(noun), prompt.format(noun))
