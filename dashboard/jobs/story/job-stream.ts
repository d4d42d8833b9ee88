// A job's text while its worker writes it. A new attempt starts again; a lost stream is not an error, because the job
// has the result.

import { useEffect, useState } from "preact/hooks";
import { ApiProblem } from "../../../contract/client/problem.ts";
import { isAway } from "../../../contract/client/while-away.ts";
import { eventsOf } from "../../../contract/text/event-stream.ts";
import { parseJson } from "../../../contract/text/json-object.ts";
import { deltaText } from "../../answer-text.ts";
import { api } from "../../api.ts";

/** Minimum time between two redraws. */
const DRAW_EVERY_MS = 80;
/** Broken streams in a row without an event. */
const MAX_EMPTY_TRIES = 3;
const OPEN_AGAIN_MS = 500;

const leaseOf = (id: string): string => id.split(".")[0] ?? "";

/** A stream that breaks off is opened again after its last event. */
const follow = async (id: string, signal: AbortSignal, show: (text: string) => void): Promise<void> => {
  let text = "";
  let lastEventId: string | undefined;
  for (let empty = 0; empty < MAX_EMPTY_TRIES; empty += 1) {
    try {
      const { body } = await api.jobs.stream(id, { lastEventId, signal });
      for await (const { event, data, id: eventId } of eventsOf(body ?? new Blob().stream())) {
        if (event === "end") return;
        if (event !== "chunk") continue;
        if (lastEventId === undefined || leaseOf(eventId) !== leaseOf(lastEventId)) text = "";
        lastEventId = eventId;
        text += deltaText(parseJson(data));
        show(text);
        empty = 0;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiProblem && !isAway(error)) return;
    }
    await new Promise((resolve) => setTimeout(resolve, OPEN_AGAIN_MS));
  }
};

/** null until there is output. */
export const useJobStream = (id: string, isOpen: boolean): string | null => {
  const [text, setText] = useState<string | null>(null);
  useEffect(() => {
    if (!isOpen) return;
    const abort = new AbortController();
    let latest: string | null = null;
    const timer = setInterval(() => latest !== null && setText(latest), DRAW_EVERY_MS);
    follow(id, abort.signal, (next) => {
      latest = next;
    })
      .catch(() => undefined)
      .finally(() => {
        clearInterval(timer);
        if (!abort.signal.aborted && latest !== null) setText(latest);
      });
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [id, isOpen]);
  return text;
};
