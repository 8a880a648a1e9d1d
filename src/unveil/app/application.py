"""The web application: the addresses of all screens, and the parts that every page has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from unveil.app.pages import asset, rendered
from unveil.app.screens import SCREENS
from unveil.app.state import ChangedOnDiskError, Desk
from unveil.app.uploads import LARGEST, received
from unveil.app.visit import Answer, Download, Go, Handler, Page, Screen, Visit
from unveil.errors import ArgumentError, UnveilError

__all__ = ["application"]

_LONGEST_FORM = 8 << 20
_MOST_FIELDS = 20_000
_YEAR = "private, max-age=31536000, immutable"


def application(desk: Desk, stop: Callable[[], None] = lambda: None, *, largest: int = LARGEST) -> Starlette:
    """Return the application for the given desk.

    Parameters
    ----------
    desk
        The open data and its project.
    stop
        Called when the user asks the server to stop.
    largest
        The largest size of a file that is dropped, in bytes.
    """
    return _App(desk, stop, largest).starlette()


class _App:
    def __init__(self, desk: Desk, stop: Callable[[], None], largest: int) -> None:
        self._desk, self._stop, self._largest = desk, stop, largest

    def starlette(self) -> Starlette:
        routes = [
            Route("/", self._first),
            Route("/static/{name}", self._static),
            Route("/favicon.ico", self._icon),
            Route("/version", self._version),
            Route("/undo", self._posted(self._undo), methods=["POST"]),
            Route("/redo", self._posted(self._redo), methods=["POST"]),
            Route("/conflict", self._posted(self._conflict), methods=["POST"]),
            Route("/stop", self._stopped, methods=["POST"]),
            Route("/jobs/{number:int}/stream", self._stream),
            Route("/jobs/{number:int}/cancel", self._cancel, methods=["POST"]),
        ]
        for screen in SCREENS:
            routes.append(Route(f"/{screen.name}", self._shown(screen, screen.page)))
            routes += [Route(f"/{screen.name}/{word}", self._shown(screen, part)) for word, part in screen.parts.items()]
            for word, upload in screen.uploads.items():
                routes.append(Route(f"/{screen.name}/{word}", self._dropped(upload, screen), methods=["POST"]))
            for word, action in screen.actions.items():
                routes.append(Route(f"/{screen.name}/{word}", self._posted(action, screen), methods=["POST"]))
        return Starlette(routes=routes, exception_handlers={404: self._nowhere, 405: self._nowhere, Exception: self._failed})

    # Screens ----------------------------------------------------------------------------------------------------------

    def _shown(self, screen: Screen, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def show(request: Request) -> Response:
            visit = Visit(self._desk, request.query_params, lists=request.query_params.getlist)
            return await run_in_threadpool(self._answered, request, screen, handler, visit)

        return show

    def _posted(self, handler: Handler, screen: Screen | None = None) -> Callable[[Request], Awaitable[Response]]:
        async def post(request: Request) -> Response:
            form = await _form(request)
            if form is None:
                return PlainTextResponse("this form is too long", status_code=413)
            visit = Visit(self._desk, request.query_params, form, lists=form.getlist)
            return await run_in_threadpool(self._answered, request, screen, handler, visit)

        return post

    def _dropped(self, handler: Handler, screen: Screen) -> Callable[[Request], Awaitable[Response]]:
        async def drop(request: Request) -> Response:
            try:
                if self._desk.private is None:
                    raise ArgumentError("files cannot be dropped here; open the file by its name.")
                file = await received(request, self._desk.private, self._largest)
                visit = Visit(self._desk, request.query_params, file=file)
            except UnveilError as problem:
                return self._response(request, screen, Go(_path(screen), str(problem), "error"))
            return await run_in_threadpool(self._answered, request, screen, handler, visit)

        return drop

    def _answered(self, request: Request, screen: Screen | None, handler: Handler, visit: Visit) -> Response:
        """Answer a visit; a problem is reported on the page that the visit came from."""
        try:
            if screen is not None and (lacking := screen.missing(self._desk)):
                return self._response(request, screen, Go(_before(screen, self._desk), lacking, "warning"))
            stale = _is_stale(visit)
            answer = handler(visit)
            if isinstance(answer, Go) and stale:
                note = (
                    f"{answer.note} The project had meanwhile been changed in another tab; this change was added on top.".strip()
                )
                answer = Go(answer.to, note, answer.kind)
            return self._response(request, screen, answer)
        except ChangedOnDiskError:
            return self._response(request, screen, Go(_path(screen), "", "note"))
        except UnveilError as problem:
            if request.method == "POST":
                return self._response(request, screen, Go(_path(screen), str(problem), "error"))
            return self._response(request, screen, Page("problem.html", {"problem": str(problem)}, status=400))

    def _response(self, request: Request, screen: Screen | None, answer: Answer) -> Response:
        if isinstance(answer, Go):
            mark = "&" if "?" in answer.to else "?"
            to = f"{answer.to}{mark}note={self._desk.say(answer.note, answer.kind)}" if answer.note else answer.to
            return RedirectResponse(to, status_code=303)
        if isinstance(answer, Download):
            disposition = f'attachment; filename="{answer.name}"'
            return Response(answer.content, media_type=answer.type, headers={"content-disposition": disposition})
        values = {**self._around(request, screen), **answer.values, "same": answer.same}
        return Response(rendered(answer.template, values), answer.status, media_type="text/html")

    def _around(self, request: Request, screen: Screen | None) -> dict[str, Any]:
        """Return the values that every page is filled with."""
        desk = self._desk
        return {
            "desk": desk,
            "opened": desk.opened if desk.is_open else None,
            "screen": screen,
            "screens": [(one, one.missing(desk)) for one in SCREENS],
            "message": desk.message(request.query_params.get("note", "")),
            "code": desk.code,
        }

    # Parts of every page ----------------------------------------------------------------------------------------------

    async def _first(self, request: Request) -> Response:  # noqa: ARG002 - the signature of a route
        to = next((one.name for one in SCREENS[1:] if not one.missing(self._desk)), SCREENS[0].name)
        return RedirectResponse(f"/{to}", status_code=303)

    async def _static(self, request: Request) -> Response:
        file = asset(request.path_params["name"])
        if file is None:
            return PlainTextResponse("there is no such file", status_code=404)
        kept = _YEAR if request.query_params.get("v") else "private, no-cache"
        return Response(file[0], media_type=file[1], headers={"cache-control": kept})

    async def _icon(self, request: Request) -> Response:  # noqa: ARG002 - browsers ask for it whatever the page says
        return RedirectResponse("/static/mark.svg", status_code=303)

    async def _version(self, request: Request) -> Response:  # noqa: ARG002
        changed = await run_in_threadpool(lambda: self._desk.changed_on_disk)
        return PlainTextResponse(f"{self._desk.version}{'!' if changed else ''}")

    def _undo(self, visit: Visit) -> Answer:
        return Go(_back(visit), f"Undone: {visit.desk.undo()}.")

    def _redo(self, visit: Visit) -> Answer:
        return Go(_back(visit), f"Done again: {visit.desk.redo()}.")

    def _conflict(self, visit: Visit) -> Answer:
        if visit.word("choice", ("read", "keep")) == "read":
            visit.desk.read_again()
            return Go(_back(visit), "The project file was read again.")
        visit.desk.keep_mine()
        return Go(_back(visit), "The project file was overwritten with the version of the app.")

    async def _stopped(self, request: Request) -> Response:  # noqa: ARG002
        self._stop()
        return Response(rendered("stopped.html", {}), media_type="text/html")

    async def _cancel(self, request: Request) -> Response:
        form = await _form(request)
        try:
            self._desk.jobs[request.path_params["number"]].cancel()
        except UnveilError as problem:
            return RedirectResponse(f"/?note={self._desk.say(str(problem), 'error')}", status_code=303)
        return RedirectResponse(_safe_path("" if form is None else form.get("back", "")), status_code=303)

    async def _stream(self, request: Request) -> Response:
        try:
            job = self._desk.jobs[request.path_params["number"]]
        except UnveilError:
            return Response(status_code=204)  # the browser does not ask again

        async def events() -> AsyncIterator[str]:
            async for _ in job.changes():
                yield _event("part", rendered("_job.html", {"job": job, "back": ""}))
            yield _event("end", job.outcome)

        return StreamingResponse(events(), media_type="text/event-stream")

    async def _nowhere(self, request: Request, error: Exception) -> Response:  # noqa: ARG002
        page = Page("problem.html", {"problem": "There is nothing at this address."}, status=404)
        return self._response(request, None, page)

    async def _failed(self, request: Request, error: Exception) -> Response:
        problem = f"Unexpected failure: {type(error).__name__}. Nothing was changed; go back and try again."
        return self._response(request, None, Page("problem.html", {"problem": problem}, status=500))


async def _form(request: Request) -> ImmutableMultiDict[str, str] | None:
    """Read a form of texts; None if it is too long."""
    if int(request.headers.get("content-length") or _LONGEST_FORM + 1) > _LONGEST_FORM:
        return None
    form = await request.form(max_fields=_MOST_FIELDS, max_files=0, max_part_size=_LONGEST_FORM)
    return ImmutableMultiDict([(name, value) for name, value in form.multi_items() if isinstance(value, str)])


def _event(kind: str, text: str) -> str:
    lines = "".join(f"data: {line}\n" for line in text.splitlines())
    return f"event: {kind}\n{lines}\n"


def _is_stale(visit: Visit) -> bool:
    """Whether a form was rendered before the last change of the project."""
    version = visit.form.get("version", "")
    return version.isascii() and version.isdigit() and int(version) < visit.desk.version


def _path(screen: Screen | None) -> str:
    return "/" if screen is None else f"/{screen.name}"


def _before(screen: Screen, desk: Desk) -> str:
    """Return the address of the last usable screen before this one."""
    usable = [one for one in SCREENS[: SCREENS.index(screen)] if one.step and not one.missing(desk)]
    return _path(usable[-1] if usable else None)


def _back(visit: Visit) -> str:
    return _safe_path(visit.form.get("back", ""))


def _safe_path(path: str) -> str:
    """Return the path if it is one of ours, otherwise the start page."""
    return path if any(path == f"/{screen.name}" for screen in SCREENS) else "/"
