"""What an agent is told when a turn, a conversation or a subagent begins, and whether it may end its turn.

It is told only what changed. It is sent on while it makes progress, else it may stop with a reason. It may wait for
background work, once for each piece: work that never ends must not keep the agent from its task.
"""

from __future__ import annotations

from handrail import FOR_ONE_CALL
from handrail.base import jsonlite
from handrail.guided.sessions import hook_files
from handrail.guided.sessions.gate import current_card

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.extensions.contracts import Host, messages
    from handrail.extensions.contracts.messages import Context, ModelCalled, PromptGiven, SubagentEnded
    from handrail.guided.sessions.hook_files import SessionRef


def tell(
    host: Host,
    ref: SessionRef | None,
    request: PromptGiven | messages.ConversationOpened | ModelCalled | messages.SubagentStarted | SubagentEnded,
) -> Context:
    if ref is not None and request["event"] == "subagent-end":
        hook_files.end_subagent(ref.folder)
    card = current_card(ref) if ref is not None else None
    if ref is None or card is None or card["context"] is None or request["event"] == "subagent-end":
        return context(None)
    if request["event"] == "subagent":
        return context(card["brief"])
    if request["event"] == "begin":
        return _begin(host, ref, card, request)
    if request["event"] == "model":
        return _before_model(ref.folder, card, request)
    begin_turn(ref.folder, request)
    if request["by_person"] and card["state"].get("question"):
        card = _after_answer(ref) or card
    answer = _news(ref.folder, card)
    text = answer["text"] or card["statusLine"]
    return {**answer, "text": text, "title": card["title"], "status_line": card["statusLine"]}


def _after_answer(ref: SessionRef) -> messages.CardBody | None:
    """The card after a person wrote to an agent that waits for them: that is the answer."""
    import time

    from handrail.guided.sessions.machine import Answer
    from handrail.guided.sessions.store import Session

    session = Session(ref, time.time, lambda: "person")
    session.do(Answer(in_prompt=True))
    return session.card()


def context(text: str | None, title: str | None = None, notice: str | None = None) -> Context:
    return {"kind": "context", "text": text, "title": title, "status_line": None, "notice": notice}


def _news(folder: str, card: messages.CardBody) -> Context:
    """The context text with its mark, if the agent does not have it yet."""
    text = new_context(folder, card)
    return context(None) if text is None else {**context(text), "mark": context_mark(card["state"])}


def begin_turn(folder: str, request: PromptGiven) -> None:
    """Record that a turn begins, and whether the agent is paused.

    After a person's interrupt the agent stays paused until the person writes a prompt; a notification does not end the
    pause. A turn that began but never ended was interrupted, even if the host has not recorded that yet. But a
    notification with the id of the turn that has begun came in the middle of it: the agent is still at work.
    """
    turn = request.get("turn") or ""
    hook_files.clear_marks(folder, hook_files.SUBAGENTS, hook_files.LET_GO, hook_files.MOVING)
    if request["by_person"]:
        hook_files.clear_marks(folder, hook_files.PAUSED)
    elif turn and hook_files.mark_text(folder, hook_files.TURN) == turn:
        return
    elif request["was_interrupted"] or hook_files.has_mark(folder, hook_files.TURN):
        hook_files.set_mark(folder, hook_files.PAUSED)
    hook_files.set_mark(folder, hook_files.TURN, turn)


def _begin(host: Host, ref: SessionRef, card: messages.CardBody, request: messages.ConversationOpened) -> Context:
    """Repeat the context text if the history has lost it: after compaction, or after the host was killed.

    A host that tells only that compaction begins gets nothing now: the agent is told at its next prompt or call.
    """
    if request["source"] == "compacting":
        hook_files.clear_marks(ref.folder, hook_files.SHOWN, hook_files.HISTORY)
        return context(None)
    if request["source"] == "compact" or not _is_in_history(host, ref.folder, card, request["transcript"]):
        hook_files.clear_marks(ref.folder, hook_files.SHOWN)
    hook_files.clear_marks(ref.folder, hook_files.TURN, hook_files.HISTORY)
    if card["state"]["cancel_asked"]:
        import time

        from handrail.guided.sessions.machine import Resumed
        from handrail.guided.sessions.store import Session

        Session(ref, time.time).do(Resumed())
    return context(None) if request.get("waits") else _news(ref.folder, card)


def _before_model(folder: str, card: messages.CardBody, request: ModelCalled) -> Context:
    """The brief for a subagent; for the main agent the context text, if its history does not have it.

    The history does not keep this text, so it is not recorded as told: the next prompt tells it.
    """
    mark = context_mark(card["state"])
    if "told" in request:
        if mark in request["told"]:
            return context(None)
        hook_files.clear_marks(folder, hook_files.SHOWN)
        hook_files.set_mark(folder, hook_files.HEARD)
        return context(card["context"])
    if hook_files.has_subagent(folder):
        return context(card["brief"])
    hook_files.clear_marks(folder, hook_files.MOVING)
    known, messages = hook_files.mark_text(folder, hook_files.HISTORY), request.get("messages", 0)
    if known.isdigit() and messages < int(known):
        hook_files.clear_marks(folder, hook_files.SHOWN)
    if known != str(messages):
        hook_files.set_mark(folder, hook_files.HISTORY, str(messages))
    return context(None if hook_files.last_shown(folder)[0] == mark else card["context"])


def _is_in_history(host: Host, folder: str, card: messages.CardBody, transcript: str | None) -> bool:
    """True if the conversation's history contains what the agent was told last.

    A host that is killed loses what it had not written yet. Without a transcript this assumes that nothing is lost.
    """
    if not transcript:
        return True
    try:
        with open(transcript, "rb") as file:
            history = file.read()
    except OSError:
        return False
    cut_history = getattr(host, "kept", None)
    history = cut_history(history) if cut_history is not None else history
    _, call = hook_files.last_shown(folder)
    was_told = getattr(host, "was_told", None)
    if call and was_told is not None and was_told(history, call):
        return True
    text, task = str(card["context"]), card["state"]["task_id"]
    step = text.find(" (", text.find("**Progress:**"))
    excerpt = text[text.rfind(task, 0, step) : step]  # what no other context text has: from the task id to the step
    return jsonlite.dumps(excerpt)[1:-1].encode() in history


def context_mark(state: messages.StateData) -> str:
    """A key that changes whenever the agent needs a new context text."""
    exchanges = f" {state['exchanges']}" if state.get("exchanges") else ""
    return f"{state['task_id']} {state['steps']} {state['plan']}{exchanges}"


def new_context(folder: str, card: messages.CardBody) -> str | None:
    """The context text if the agent does not have it yet, else None. Records that it is told."""
    mark = context_mark(card["state"])
    if hook_files.last_shown(folder)[0] == mark:
        return None
    hook_files.remember_shown(folder, mark)
    return card["context"]


LET_WAIT = (
    "Handrail lets the agent stop while its background work runs, and continues when that ends. "
    "If the work never ends, such as a server, tell the agent to go on."
)


def is_beside_run(ref: SessionRef, env: Mapping[str, str]) -> bool:
    """True if a run drives the session with its own stubs, and this is an installed one: nothing counts twice."""
    if ref.link is None or env.get(FOR_ONE_CALL):
        return False
    from handrail.guided.sessions import store

    about = store.read_about(ref.folder)
    return about is not None and about.run is not None


def decide_stop(
    host: Host, agent: str, ref: SessionRef | None, request: messages.AgentStops, env: Mapping[str, str]
) -> messages.StopPolicy:
    """The policy for a stop. A run that drives the session has its own stubs: an installed one does not count again."""
    if ref is None or current_card(ref) is None or is_beside_run(ref, env):
        return _policy()
    answer = _decide_stop(host, agent, ref, request)
    if answer["send_on"] is None:
        hook_files.clear_marks(ref.folder, hook_files.TURN)
    if answer["let_go"] is not None:
        hook_files.set_mark(ref.folder, hook_files.LET_GO, answer["let_go"].partition(". ")[0])
    return answer


def _policy(send_on: str | None = None, let_go: str | None = None, farewell: str | None = None) -> messages.StopPolicy:
    return {"kind": "stop", "send_on": send_on, "let_go": let_go, "farewell": farewell}


def _decide_stop(host: Host, agent: str, ref: SessionRef, request: messages.AgentStops) -> messages.StopPolicy:
    import time

    from handrail.guided.sessions.machine import AgentStopped, LetGo, SentOn, Tell
    from handrail.guided.sessions.store import Session

    session = Session(ref, time.time, lambda: f"agent:{agent}")
    card = session.card()
    farewell = card["farewell"] if card is not None else None
    if farewell and session.do(Tell()).decision.events:
        from handrail.guided.sessions.denials import denials_since, denied_words, tool_counts

        denials = denials_since(ref.folder, card["state"]["started"]) if card is not None else ()
        return _policy(farewell="\n".join(filter(None, (farewell, denied_words(tool_counts(denials))))))
    if request["hands_off"] or hook_files.has_mark(ref.folder, hook_files.PAUSED):
        return _policy()
    if card is not None and card.get("asked") and not request["was_aborted"]:
        return _policy(let_go=card["asked"])
    is_active = card is not None and bool(card["context"])
    if request["awaits"] and is_active and hook_files.is_new_work(ref.folder, request["awaits"]):
        return _policy(let_go=LET_WAIT)
    times, cap = hook_files.mark_text(ref.folder, hook_files.SENT), request.get("cap")
    sent = int(times) if times.isdigit() and request.get("was_sent_on") else 0
    if cap is not None and sent >= cap and is_active:
        why = f"the agent's program sends it on at most {cap} times after a prompt"
        return _policy(let_go=f"Handrail cannot send the agent on: {why}. The workflow stays active: write a prompt.")
    progress = request["has_progress"]
    if progress is None:
        progress = hook_files.has_mark(ref.folder, hook_files.PROGRESS)
    outcome = session.do(AgentStopped(request["was_aborted"], progress))
    for event in outcome.decision.events:
        if isinstance(event, SentOn):
            hook_files.clear_marks(ref.folder, hook_files.PROGRESS)
            if cap is not None:
                hook_files.set_mark(ref.folder, hook_files.SENT, str(sent + 1))
            new_card = session.card()
            return _policy(send_on=new_card["reminder"] if new_card is not None else None)
        if isinstance(event, LetGo):
            options = f"The workflow stays active: tell the agent how to continue, or use {host.COMMANDS['cancel']}."
            return _policy(let_go=f"Handrail lets the agent stop: {event.reason}. {options}")
    return _policy()
