// Stored turns of the Responses API. What they take is counted beside them, because there may be very many.

import type { StoredResponse } from "../../domain/front-door/stored-response.ts";
import { all, first, record, records, type Sql, scalar } from "./sql.ts";

/** The texts of a turn, as JSON. */
export interface ResponseTexts {
  /** The request without its input. */
  readonly head: string;
  /** The list of the turn's own items; null if it lies in a file. */
  readonly input: string | null;
  /** null while there is none here. */
  readonly answer: string | null;
}

const charsOf = ({ head, input, answer }: ResponseTexts): number =>
  head.length + (input?.length ?? 0) + (answer?.length ?? 0);

export const responsesTable = (sql: Sql) => {
  const count = (chars: number): void => {
    sql.exec(
      "INSERT INTO response_sums (id, chars) VALUES (0, ?1) ON CONFLICT (id) DO UPDATE SET chars = chars + ?1",
      chars,
    );
  };
  const find = (id: string): StoredResponse | null =>
    record<StoredResponse>(first(sql, "SELECT record FROM responses WHERE id = ?", id));
  return {
    find,

    texts: (id: string): ResponseTexts => {
      const row = first(sql, "SELECT head, input, answer FROM responses WHERE id = ?", id);
      if (row === null) throw new Error(`response ${id} is not stored`);
      return { head: row.head as string, input: row.input as string | null, answer: row.answer as string | null };
    },

    add: (response: StoredResponse, texts: ResponseTexts): void => {
      const { id, expiresAt } = response;
      const { head, input, answer } = texts;
      sql.exec(
        "INSERT INTO responses (id, expires_at, chars, record, head, input, answer) VALUES (?, ?, ?, ?, ?, ?, ?)",
        id,
        expiresAt,
        charsOf(texts),
        JSON.stringify(response),
        head,
        input,
        answer,
      );
      count(charsOf(texts));
    },

    end: (response: StoredResponse, answer: string | null): void => {
      const chars = answer?.length ?? 0;
      sql.exec(
        "UPDATE responses SET record = ?2, answer = ?3, chars = chars + ?4 WHERE id = ?1",
        response.id,
        JSON.stringify(response),
        answer,
        chars,
      );
      count(chars);
    },

    remove: (id: string): void => {
      const chars = scalar(sql, "SELECT chars FROM responses WHERE id = ?", id);
      if (chars === null) return;
      sql.exec("DELETE FROM responses WHERE id = ?", id);
      count(-chars);
    },

    /** Characters of all their texts. */
    chars: (): number => scalar(sql, "SELECT chars FROM response_sums") ?? 0,

    oldest: (limit: number): StoredResponse[] =>
      records<StoredResponse>(all(sql, "SELECT record FROM responses ORDER BY expires_at LIMIT ?", limit)),

    nextEndAt: (): number | null => scalar(sql, "SELECT MIN(expires_at) FROM responses"),

    ended: (nowAt: number, limit: number): StoredResponse[] =>
      records<StoredResponse>(
        all(sql, "SELECT record FROM responses WHERE expires_at <= ? ORDER BY expires_at LIMIT ?", nowAt, limit),
      ),
  };
};
