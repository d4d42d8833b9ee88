import { expect, test } from "vitest";
import { readTraceparent, traceparentOf } from "../../contract/text/traceparent.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const REST = `${TRACE}-${SPAN}-01`;

test.each([`00-${REST}`, `01-${REST}`, `cc-${REST}-what-the-future-brings`, `cc-${REST}-`])(
  "%s is the caller's trace, and goes on in version 00",
  (header) => {
    expect(readTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN });
    expect(traceparentOf(header)).toBe(`00-${REST}`);
  },
);

test.each([
  `ff-${REST}`,
  `00-${REST}-more`,
  `00-${REST}-`,
  `cc-${REST}.more`,
  `cc-${REST}0`,
  `0-${REST}`,
  `00-${"0".repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-1`,
  "",
  null,
])("%s is none: a new one is made", (header) => {
  expect(readTraceparent(header)).toBeNull();
  const made = traceparentOf(header);
  expect(made).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  expect(made).not.toContain(TRACE);
});
