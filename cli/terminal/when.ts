// An instant in a table or a record: relative words on a terminal, the instant itself in a pipe.

import { relative } from "../../contract/text/time-words.ts";

export class When {
  readonly at: string;

  constructor(at: string) {
    this.at = at;
  }

  toWords(nowAt: number): string {
    const at = Date.parse(this.at);
    return Number.isNaN(at) ? this.at : relative(at, nowAt);
  }
}

export const when = (at: string | null | undefined): When | null => (at == null || at === "" ? null : new When(at));
