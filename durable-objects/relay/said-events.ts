// What is remembered of all that a stream has said, in its window or not: how much, how much of it in events that are
// too long for a part, and what an end event must name. `last` is the last text of the window.

import { MAX_PART_BYTES } from "../../contract/data-line.ts";
import { errorEvent, lastNumberIn, openingOf, saysItsEnd } from "../../contract/front-door/dialect.ts";
import { doorErrorOf } from "../../contract/front-door/door-status.ts";
import { endsWhole } from "../../contract/text/event-text.ts";
import type { JobError } from "../../domain/job/job.ts";
import { APIS, type Api } from "../../domain/words/api.ts";
import { LONG_EVENT_BYTES } from "./relay-bounds.ts";
import type { WindowPart } from "./window-part.ts";

export type EndError = Pick<JobError, "code" | "message" | "status">;

export class SaidEvents {
  chars = 0;
  /** What follows belongs to an event that has begun: nothing else may be said. */
  isWithinEvent = false;
  /** The beginning of the stream. It names the answer, which an end event must name, too. */
  #opening = "";
  /** The beginning of the last event that is too long for a part: its name may tell the end of the stream. */
  #begun = "";
  /** Characters that came in pieces of such events or, over HTTP, in more than a part at once. */
  #longChars = 0;
  /** What an emptied window had: the APIs whose end was in it, and the last numbered event. */
  readonly #endedFor = new Set<Api>();
  #numbered = "";

  note(part: WindowPart, events: string): void {
    if (this.chars === 0) this.#opening = openingOf(events);
    this.chars += events.length;
    const wasWithin = this.isWithinEvent;
    this.isWithinEvent = !endsWhole(events);
    if (!wasWithin && !this.isWithinEvent && events.length <= MAX_PART_BYTES) return;
    this.#longChars += events.length;
    const { begun } = part;
    if (begun !== "") this.#begun = openingOf(begun);
  }

  /** What its long events allow a reader to leave unread. */
  get longEventBytes(): number {
    return Math.min(LONG_EVENT_BYTES, this.#longChars);
  }

  /** Its window is emptied. */
  noteEmptied(last: string): void {
    for (const api of APIS) if (this.hasEnd(api, last)) this.#endedFor.add(api);
    this.#numbered = lastNumberIn(this.#begun + last) ?? this.#numbered;
  }

  /** It has said its end itself, as this API has it. */
  hasEnd(api: Api, last: string): boolean {
    return this.#endedFor.has(api) || saysItsEnd(api, this.#begun + last);
  }

  /** An error as the end that it has not said. */
  endOf(api: Api, error: EndError, jobId: string, last: string): string {
    const said = { jobId, opening: this.#opening, last: this.#begun + last || this.#numbered };
    const event = errorEvent(api, doorErrorOf(error), said);
    return this.isWithinEvent ? `\n\n${event}` : event;
  }
}
