// A long untrusted value, as plain text, with a copy button.

import { jsonText } from "../format.ts";
import { tell, tellError } from "../state/notice.ts";

export const copy = async (text: string): Promise<void> => {
  try {
    await navigator.clipboard.writeText(text);
    tell("Copied.");
  } catch {
    tellError(new Error("The browser did not allow copying: select the text instead."));
  }
};

export const TextBlock = ({ name, value }: { name: string; value: unknown }) => {
  const text = jsonText(value);
  return (
    <div class="text-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and so must be reachable by keyboard */}
      <section tabIndex={0} aria-label={name}>
        <pre>{text}</pre>
      </section>
      <button type="button" class="button small quiet" onClick={() => copy(text)} aria-label={`Copy: ${name}`}>
        Copy
      </button>
    </div>
  );
};
