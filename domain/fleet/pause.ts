// Why and until when a worker gets no new jobs.

export interface Pause {
  readonly reason: string;
  readonly untilAt: number | null;
}

/** By the killswitch, beyond whose end it lasts. Its readers have a button, a command or a request for resuming. */
export const HALT_PAUSE: Pause = { reason: "killswitch; paused until it is resumed", untilAt: null };

/** In one text, for people: the reason and, unless that says it itself, the end as an RFC 3339 instant. */
export const pauseText = (reason: string, until: string | null): string =>
  until === null || reason.includes(until) ? reason : `${reason}, until ${until}`;

/** The same for a pause of the domain. */
export const pauseTextOf = ({ reason, untilAt }: Pause): string =>
  pauseText(reason, untilAt === null ? null : new Date(untilAt).toISOString());
