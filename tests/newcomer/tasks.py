"""Questions of a newcomer, and the steps by which each door answers them.

A step is a command, a line in a notebook, or a link, button or field of the page.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_STEPS = 3


@dataclass(frozen=True)
class Task:
    """A question with its answers.

    Attributes:
        id: A short name.
        question: The newcomer's question.
        cli: The commands after ``mooring``; ``{server}``, ``{first}`` and ``{last}`` (the first and the last
            decision about the pod ``racked``) and ``{shape}`` (a file with a pod) are filled in.
        told: The last command's output, as a regular expression.
        lab: The lines of the notebook; the last one is an expression.
        shown: The notebook's output then.
        page: The steps from the overview: "link NAME", "button NAME", "row TEXT" or "fill LABEL=TEXT".
        seen: The page's text then.
    """

    id: str
    question: str
    cli: tuple[str, ...]
    told: str
    lab: tuple[str, ...]
    shown: str
    page: tuple[str, ...]
    seen: str


LOAD = "cluster = lab.load(kubeconfig=kubeconfig, config=now)"
SERVER = "server = lab.RunningServer(address)"

TASKS = (
    Task(
        "why-pending",
        "why is picky pending?",
        ("explain picky --server {server}",),
        r"NodeAffinity: the node selector asks for disk=nvme",
        (LOAD, "cluster.explain('picky').findings()"),
        r"the node selector asks for disk=nvme",
        ("link default/picky",),
        r"the node selector asks for disk=nvme",
    ),
    Task(
        "who-holds",
        "what holds the GPUs?",
        ("explain render --node gpu1 --server {server}",),
        r"default/train-0",
        (LOAD, "cluster.explain('render').findings('gpu1')"),
        r"default/train-0",
        ("link default/render",),
        r"held by default/train-0",
    ),
    Task(
        "drain",
        "can I drain n1?",
        ("what-if removal --node n1 --server {server}",),
        r"n1 +can go",
        (LOAD, "cluster.removal('n1')"),
        r"1 of 1 nodes could go by drain",
        ("link Nodes", "link n1", "link What if it goes?"),
        r"It can go",
    ),
    Task(
        "which-config",
        "which configuration changed the outcome for racked?",
        ("decisions --pod racked --server {server}", "decisions --compare {first},{last} --server {server}"),
        r"configuration_hash +[0-9a-f]+ +[0-9a-f]+",
        (SERVER, "server.decisions('racked')"),
        r"(?s)unschedulable.*scheduled",
        ("link Decisions", "row default/racked", "link another configuration"),
        r"OwnRack",
    ),
    Task(
        "preempted",
        "who was preempted for whom?",
        ("decisions --pod vip --server {server}",),
        r"preempts default/low-0",
        (SERVER, "server.decisions('vip')"),
        r"default/low-0",
        ("link default/vip",),
        r"It preempts default/low-0 on n2",
    ),
    Task(
        "tried-again",
        "when is picky tried again?",
        ("why-pending picky --history --server {server}",),
        r"the\s+sweep at \d\d:\d\d",
        (SERVER, "server.history('picky')"),
        r"the\s+sweep at \d\d:\d\d",
        ("link default/picky",),
        r"the\s+sweep at \d\d:\d\d",
    ),
    Task(
        "full-nodes",
        "which nodes are full?",
        ("nodes --server {server}",),
        r"full +100 %",
        (LOAD, "cluster.usage()"),
        r"full +cpu +2000 +2000 +100\.0",
        ("link Nodes",),
        r"full[\s\S]{0,60}2 / 2",
    ),
    Task(
        "what-would-it-take",
        "what would it take for picky to run?",
        ("what-if change picky --server {server}",),
        r"label n1 with disk=nvme",
        (LOAD, "cluster.change('picky')"),
        r"label n1 with disk=nvme",
        ("link default/picky", "button Find the fewest changes"),
        r"label n1 with disk=nvme",
    ),
    Task(
        "hundred-more",
        "where would 100 more fit?",
        ("what-if capacity --shape {shape} --limit 100 --nodes --server {server}",),
        r"n1 +\d+",
        (LOAD, "cluster.capacity(lab.pod('more', cpu='100m'), by_node=True, limit=100)"),
        r"more +n1 +\d+",
        ("link What if", "button How many would fit?"),
        r"more pods would fit[\s\S]*Most on n1",
    ),
    Task(
        "best-drain",
        "which node is best to drain?",
        ("what-if removal --server {server}",),
        r"NODE.*\n\S+ +can go",
        (LOAD, "cluster.removal()"),
        r"node +removable.*\n0 +\S+ +True",
        ("link What if", "button Which node is best to drain?"),
        r"could be drained, each alone\s+\S+ ✓ can go",
    ),
    Task(
        "lost-data",
        "what is lost if I drain n1?",
        ("what-if removal --node n1 --server {server}",),
        r"emptyDir data is lost \(kubectl drain --delete-emptydir-data\): default/web-0",
        (LOAD, "cluster.removal('n1')"),
        r"(?s)emptyDir pods.*\n0 +n1 +True +1 +1 +1 ",
        ("link Nodes", "link n1", "link What if it goes?"),
        r"Data in emptyDir volumes is lost: default/web-0. kubectl drain needs --delete-emptydir-data",
    ),
    Task(
        "my-rule",
        "did my rule reject racked?",
        ("decisions --plugin OwnRack --server {server}",),
        r"default/racked .*in another rack",
        (LOAD, "cluster.with_rules(own_rack).explain('racked').why_not('n1')"),
        r"OwnRack: node\(s\) were in another rack",
        ("link Decisions", "fill Rejected by=OwnRack", "row default/racked"),
        r"OwnRack[\s\S]*node\(s\) were in another rack",
    ),
    Task(
        "since-yesterday",
        "what happened since yesterday?",
        ("decisions --over 24h --server {server}",),
        r"NodeAffinity: node\(s\) didn't match",
        (SERVER, "server.time_line(hours=24, spans=12)"),
        r"decisions in 24 h, 3 pods are pending",
        ("button 24 h",),
        r"Decisions in 24 min",
    ),
)
