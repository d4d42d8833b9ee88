// A job's text while its worker writes it. A new attempt starts again; a lost stream is not an error, because the job
// has the result.

import { useEffect, useState } from "preact/hooks";
import { streamEvents } from "../../../contract/client/stream-events.ts";
import { deltaText } from "../../answer-text.ts";
import { api } from "../../api.ts";

/** Minimum time between two redraws. */
const DRAW_EVERY_MS = 80;

const leaseOf = (eventId: string): string => eventId.split(".")[0] ?? "";

const follow = async (id: string, signal: AbortSignal, show: (text: string) => void): Promise<void> => {
  let text = "";
  let lease = "";
  for await (const { type, id: eventId, data } of streamEvents(api.jobs, id, { signal })) {
    if (type !== "chunk") continue;
    if (leaseOf(eventId) !== lease) text = "";
    lease = leaseOf(eventId);
    text += deltaText(data);
    show(text);
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
