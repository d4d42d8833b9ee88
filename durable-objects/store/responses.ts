// Stored turns of the Responses API. What they take is counted beside them, because there may be very many.

import type { StoredResponse } from "../../domain/front-door/stored-response.ts";
import { cells, first, record, records, type Sql, scalar } from "./sql.ts";

/** The texts of a turn, as JSON. */
interface ResponseTexts {
  /** The request without its input. */
  readonly head: string;
  /** The list of the turn's own items; null if it lies in a file. */
  readonly input: string | null;
  /** null while there is none here. */
  readonly answer: string | null;
}

/** Of an answer, those that a later request may refer to. */
const MAX_ITEMS = 200;
const MAX_ITEM_ID_CHARS = 128;
/** What a reference to an item takes, in its table and its index. */
const ITEM_CHARS = 128;

const charsOf = ({ head, input, answer }: ResponseTexts): number =>
  head.length + (input?.length ?? 0) + (answer?.length ?? 0);

/** How many there are. */
const addItems = (sql: Sql, { id, keyId }: StoredResponse, answer: string): number => {
  sql.exec(
    `INSERT OR IGNORE INTO response_items (key_id, item_id, response_id)
      SELECT ?1, value ->> '$.id', ?2 FROM json_each(?3, '$.output')
      WHERE type = 'object' AND length(value ->> '$.id') <= ?4 LIMIT ?5`,
    keyId ?? "",
    id,
    answer,
    MAX_ITEM_ID_CHARS,
    MAX_ITEMS,
  );
  return scalar(sql, "SELECT changes()") ?? 0;
};

export const responsesTable = (sql: Sql) => {
  const count = (chars: number): void => {
    sql.exec(
      "INSERT INTO response_sums (id, chars) VALUES (0, ?1) ON CONFLICT (id) DO UPDATE SET chars = chars + ?1",
      chars,
    );
  };
  const find = (id: string): StoredResponse | null => record(sql, "SELECT record FROM responses WHERE id = ?", id);
  return {
    find,

    texts: (id: string): ResponseTexts => {
      const texts = first<ResponseTexts>(sql, "SELECT head, input, answer FROM responses WHERE id = ?", id);
      if (texts === null) throw new Error(`response ${id} is not stored`);
      return texts;
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
      const items = answer === null ? 0 : addItems(sql, response, answer);
      const chars = (answer?.length ?? 0) + items * ITEM_CHARS;
      sql.exec(
        "UPDATE responses SET record = ?2, answer = ?3, chars = chars + ?4 WHERE id = ?1",
        response.id,
        JSON.stringify(response),
        answer,
        chars,
      );
      count(chars);
    },

    /** The key's newest answer that has the item; null if there is none. */
    withItem: (keyId: string | null, itemId: string, nowAt: number): string | null => {
      const [found] = cells(
        sql,
        `SELECT response_id FROM response_items JOIN responses ON responses.id = response_id
          WHERE key_id = ? AND item_id = ? AND expires_at > ? ORDER BY response_id DESC LIMIT 1`,
        keyId ?? "",
        itemId,
        nowAt,
      );
      return found ?? null;
    },

    /** What its texts take. */
    charsOf: (id: string): number => scalar(sql, "SELECT chars FROM responses WHERE id = ?", id) ?? 0,

    remove: (id: string): void => {
      const chars = scalar(sql, "SELECT chars FROM responses WHERE id = ?", id);
      if (chars === null) return;
      sql.exec("DELETE FROM responses WHERE id = ?", id);
      sql.exec("DELETE FROM response_items WHERE response_id = ?", id);
      count(-chars);
    },

    /** Characters of all their texts. */
    chars: (): number => scalar(sql, "SELECT chars FROM response_sums") ?? 0,

    oldest: (limit: number): StoredResponse[] =>
      records(sql, "SELECT record FROM responses ORDER BY expires_at LIMIT ?", limit),

    nextEndAt: (): number | null => scalar(sql, "SELECT MIN(expires_at) FROM responses"),

    ended: (nowAt: number, limit: number): StoredResponse[] =>
      records(sql, "SELECT record FROM responses WHERE expires_at <= ? ORDER BY expires_at LIMIT ?", nowAt, limit),
  };
};
