// The items of a stored response, a page at a time.

import { expect, it } from "vitest";
import { presentInputItems } from "../../contract/front-door/response.ts";

type Page = { data: { id: string; content: unknown }[]; has_more: boolean; last_id: string };

it("are each on one page, although a runtime gives all its items one id", () => {
  const turn = (text: string) => [
    { role: "user", content: text },
    { type: "message", id: "msg_1", content: [text] },
  ];
  const items = ["a", "b", "c"].flatMap(turn);
  for (const order of ["asc", "desc"] as const) {
    const ids: string[] = [];
    for (
      let page: Page | null = null;
      page === null || (page.has_more && ids.length < 20);
      ids.push(page.data[0]?.id ?? "")
    )
      page = presentInputItems(items, "j", {
        limit: 1,
        order,
        ...(page === null ? {} : { after: page.last_id }),
      }) as Page;
    expect([ids.length, new Set(ids).size]).toEqual([6, 6]);
    expect(ids).toContain("msg_1");
  }
});

it("do not begin again behind an item that is not there", () => {
  const asked = { limit: 1, order: "asc", after: "msg_2" } as const;
  expect(presentInputItems([{ type: "message", id: "msg_1" }], "j", asked)).toBeNull();
});

it("begin with the first where the place is empty, as every list", () => {
  const page = presentInputItems([{ type: "message", id: "msg_1" }], "j", { limit: 1, order: "asc", after: "" });
  expect(page).toMatchObject({ first_id: "msg_1" });
});
