// The D1 binding for the app in Node: sends the requests of workerd's own binding to the process with the database.
// Only the parts that the app uses: prepared statements and batches.

import type { PrivateLine } from "./private-line.ts";

type Value = string | number | null;

interface Answer {
  readonly success: boolean;
  readonly error?: string;
  readonly results?: readonly Row[];
  readonly meta?: object;
}

type Row = Record<string, Value>;

class Statement {
  readonly #line: PrivateLine;
  readonly sql: string;
  readonly params: readonly Value[];

  constructor(line: PrivateLine, sql: string, params: readonly Value[] = []) {
    this.#line = line;
    this.sql = sql;
    this.params = params;
  }

  bind(...params: readonly Value[]): Statement {
    return new Statement(this.#line, this.sql, params);
  }

  async all(): Promise<Answer> {
    const [answer] = await ask(this.#line, [this]);
    if (answer === undefined) throw new Error("D1_ERROR: no answer to the statement");
    return answer;
  }

  run(): Promise<Answer> {
    return this.all();
  }

  async first(column?: string): Promise<Row | Value> {
    const row = (await this.all()).results?.[0];
    if (row === undefined) return null;
    return column === undefined ? row : (row[column] ?? null);
  }

  async raw(): Promise<Value[][]> {
    return ((await this.all()).results ?? []).map((row) => Object.values(row));
  }
}

const ask = async (line: PrivateLine, statements: readonly Statement[]): Promise<readonly Answer[]> => {
  const body = JSON.stringify(statements.map(({ sql, params }) => ({ sql, params })));
  const answer = JSON.parse(await line.post("/query?resultsFormat=ARRAY_OF_OBJECTS", body)) as Answer | Answer[];
  const answers = Array.isArray(answer) ? answer : [answer];
  const failed = answers.find(({ success }) => !success);
  if (failed !== undefined) throw new Error(`D1_ERROR: ${failed.error ?? "unknown"}`);
  return answers;
};

export const historyDatabase = (line: PrivateLine): D1Database =>
  ({
    prepare: (sql: string) => new Statement(line, sql),
    batch: (statements: readonly Statement[]) => ask(line, statements),
  }) as unknown as D1Database;
