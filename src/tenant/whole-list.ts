// Lists that come from the tenant's object in portions (`durable-objects/steps/portion.ts`).

import { Written } from "../../durable-objects/calls/grouped-calls.ts";
import type { Portion } from "../../durable-objects/steps/portion.ts";

/**
 * Asks for the rest; `answer` begins with the empty list. Each portion is written when it comes: others wait for no
 * more.
 */
export const wholeList = async <Row>(
  answer: Readonly<Record<string, unknown>>,
  first: Portion<Row>,
  read: (names: readonly string[]) => Promise<Portion<Row>>,
  present: (rows: Row[]) => Row[] | Promise<Row[]> = (rows) => rows,
): Promise<Written<unknown>> => {
  const texts: string[] = [];
  for (let portion = first; ; portion = await read(portion.rest)) {
    if (portion.rows.length > 0) texts.push(JSON.stringify(await present(portion.rows)).slice(1, -1));
    if (portion.rest.length === 0) return new Written(JSON.stringify(answer).replace("[]", () => `[${texts}]`));
  }
};
