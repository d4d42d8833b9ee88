// The time picker of a page whose figures are of a span of time.

import { chooseSpan, SPAN_OPTIONS, span } from "../state/span.ts";
import { Choice } from "./form.tsx";

export const SpanChoice = () => (
  <div class="span-choice">
    <Choice label="Time" value={span.value} options={SPAN_OPTIONS} onInput={chooseSpan} />
  </div>
);
