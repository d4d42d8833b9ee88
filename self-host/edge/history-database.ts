// The D1 binding for the app in Node: sends the requests of workerd's own binding to the process with the database.
// Only the parts that the app uses: prepared statements and batches.

import type { TextConnections } from "./text-connections.ts";

type Value = string | number | null;

interface Answer {
  readonly success: boolean;
  readonly error?: string;
  readonly results?: readonly Row[];
  readonly meta?: object;
}

type Row = Record<string, Value>;

class Statement {
  readonly #connections: TextConnections;
  readonly sql: string;
  readonly params: readonly Value[];

  constructor(connections: TextConnections, sql: string, params: readonly Value[] = []) {
    this.#connections = connections;
    this.sql = sql;
    this.params = params;
  }

  bind(...params: readonly Value[]): Statement {
    return new Statement(this.#connections, this.sql, params);
  }

  async all(): Promise<Answer> {
    const [answer] = await ask(this.#connections, [this]);
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

const ask = async (connections: TextConnections, statements: readonly Statement[]): Promise<readonly Answer[]> => {
  const body = JSON.stringify(statements.map(({ sql, params }) => ({ sql, params })));
  const answer = JSON.parse(await connections.post("/query?resultsFormat=ARRAY_OF_OBJECTS", body)) as Answer | Answer[];
  const answers = Array.isArray(answer) ? answer : [answer];
  const failed = answers.find(({ success }) => !success);
  if (failed !== undefined) throw new Error(`D1_ERROR: ${failed.error ?? "unknown"}`);
  return answers;
};

export const historyDatabase = (connections: TextConnections): D1Database =>
  ({
    prepare: (sql: string) => new Statement(connections, sql),
    batch: (statements: readonly Statement[]) => ask(connections, statements),
  }) as unknown as D1Database;
