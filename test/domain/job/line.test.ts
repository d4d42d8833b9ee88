// A group's line, compared with a list that is sorted again each time.

import fc from "fast-check";
import { expect, test } from "vitest";
import { Line } from "../../../domain/job/line.ts";
import { isBefore, type Place } from "../../../domain/job/queue.ts";

const place = fc.record({ id: fc.stringMatching(/^[a-d]{1,2}$/), orderKey: fc.integer({ min: 0, max: 5 }) });
const steps = fc.array(fc.record({ place, isLeaving: fc.boolean() }), { maxLength: 60 });

test("its head is the first job in it, whichever jobs came and left", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const line = new Line();
      let expected: Place[] = [];
      for (const { place, isLeaving } of taken) {
        const isThere = expected.some(({ id, orderKey }) => id === place.id && orderKey === place.orderKey);
        if (isLeaving) {
          line.remove(place);
          expected = expected.filter(({ id, orderKey }) => id !== place.id || orderKey !== place.orderKey);
        } else if (!isThere) {
          line.add(place);
          expected = [...expected, place].sort((one, other) => (isBefore(one, other) ? -1 : 1));
        }
        expect([line.length, line.head]).toEqual([expected.length, expected[0] ?? null]);
        expect(line.oldest).toBe(expected.map(({ id }) => id).sort()[0] ?? null);
      }
    }),
  );
});
