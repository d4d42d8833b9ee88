// Lists that come from the tenant's object in portions (`durable-objects/steps/portion.ts`).

import type { Refusal } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import { Written } from "../../durable-objects/calls/grouped-calls.ts";
import type { Portion } from "../../durable-objects/steps/portion.ts";
import { unwrap } from "../http/refused.ts";

/**
 * Asks for the rest; `answer` begins with the empty list. Each portion is written when it comes: others wait for no
 * more.
 */
export const wholeList = async <Row>(
  answer: Readonly<Record<string, unknown>>,
  first: Portion<Row>,
  ask: (names: readonly string[]) => Promise<Result<Portion<Row>, Refusal>>,
  present: (rows: Row[]) => Row[] | Promise<Row[]> = (rows) => rows,
): Promise<Written<unknown>> => {
  const texts: string[] = [];
  for (let portion = first; ; portion = unwrap(await ask(portion.rest))) {
    if (portion.rows.length > 0) texts.push(JSON.stringify(await present(portion.rows)).slice(1, -1));
    if (portion.rest.length === 0) return new Written(JSON.stringify(answer).replace("[]", () => `[${texts}]`));
  }
};
