// A long untrusted value, as plain text, with a copy button.

import { jsonText } from "../format.ts";
import { tell, tellError } from "../state/notice.ts";

/** A page of http has no `navigator.clipboard`. False if the browser does not allow this either. */
const copyByEvent = (text: string): boolean => {
  let isGiven = false;
  const give = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    isGiven = true;
  };
  document.addEventListener("copy", give, { capture: true });
  document.execCommand("copy");
  document.removeEventListener("copy", give, { capture: true });
  return isGiven;
};

export const copy = async (text: string): Promise<void> => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyByEvent(text)) return tellError(new Error("The browser did not allow copying: select the text instead."));
  }
  tell("Copied.");
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
