import { expect, test } from "vitest";
import { callersTraceparent, readTraceparent, traceparentOf } from "../../contract/text/traceparent.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const REST = `${TRACE}-${SPAN}-01`;

test.each([`00-${REST}`, `01-${REST}`, `cc-${REST}-what-the-future-brings`, `cc-${REST}-`])(
  "%s is the caller's trace, and goes on in version 00",
  (header) => {
    expect(readTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN });
    expect(callersTraceparent(header)).toBe(`00-${REST}`);
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
])("%s is none", (header) => {
  expect(readTraceparent(header)).toBeNull();
  expect(callersTraceparent(header)).toBeNull();
});

test("a job goes on in its caller's trace, or begins one whose id is its own", () => {
  const id = "01a21f8a-741e-7136-8969-d03930df3d2b";
  expect(traceparentOf({ id, traceparent: `00-${REST}` })).toBe(`00-${REST}`);
  const own = traceparentOf({ id, traceparent: null });
  expect(own).toBe("00-01a21f8a741e71368969d03930df3d2b-8969d03930df3d2b-01");
  expect(readTraceparent(own)).not.toBeNull();
});
