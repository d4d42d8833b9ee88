// Dialogs with the browser's <dialog>: focus stays inside, Escape closes unless something would be lost, and focus
// returns to where it was.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { printable } from "../../contract/text/printable.ts";
import { giveBack } from "../state/focus.ts";
import { tellError } from "../state/notice.ts";
import { Problem } from "./problem.tsx";

/** Browsers without `closedby` follow the key. */
const keepOpen = (event: KeyboardEvent): void => {
  if (event.key === "Escape") event.preventDefault();
};

export const Dialog = ({
  title,
  onClose,
  children,
  tone = "plain",
  isKeptOpen = false,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  tone?: "plain" | "stop" | "wide";
  /** Only its own buttons close it. */
  isKeptOpen?: boolean;
}) => {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const close = useRef(onClose);
  close.current = onClose;
  // With the key that opens it: what is typed next is for the dialog.
  useLayoutEffect(() => {
    const { current: dialog } = element;
    if (dialog === null) return;
    const { activeElement: before } = document;
    const closed = (): void => close.current();
    dialog.addEventListener("close", closed);
    dialog.showModal();
    // The browser takes the first field: of a choice that is not what is chosen.
    if (document.activeElement?.matches("[type=radio]:not(:checked)"))
      dialog.querySelector<HTMLElement>("[type=radio]:checked")?.focus();
    return () => {
      // Its own closing must not close a dialog that follows it.
      dialog.removeEventListener("close", closed);
      dialog.close();
      giveBack(before);
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog dialog-${tone}`}
      aria-labelledby={titleId}
      {...(isKeptOpen ? { closedby: "none", onKeyDown: keepOpen } : {})}
    >
      <h2 id={titleId}>{printable(title)}</h2>
      {children}
    </dialog>
  );
};

interface ConfirmProps {
  title: string;
  children?: ComponentChildren;
  action: string;
  isDestructive?: boolean;
  isReady?: boolean;
  tone?: "plain" | "stop" | "wide";
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

/**
 * Asks for confirmation; stays open and shows the reason if the action is refused. If it was closed meanwhile, a notice
 * tells the reason.
 */
export const Confirm = ({
  title,
  children,
  action,
  isDestructive,
  isReady = true,
  tone = "plain",
  onConfirm,
  onClose,
}: ConfirmProps) => {
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isOpen = useRef(true);
  useEffect(
    () => () => {
      isOpen.current = false;
    },
    [],
  );
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy || !isReady) return;
    setBusy(true);
    try {
      await onConfirm();
      if (isOpen.current) onClose();
    } catch (refused) {
      if (!isOpen.current) return tellError(refused);
      setError(refused as Error);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose} tone={tone}>
      <form onSubmit={submit}>
        {children}
        <Problem error={error} />
        <div class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            {isDestructive ? "Keep as it is" : "Not now"}
          </button>
          <button
            type="submit"
            class={`button ${isDestructive ? "danger" : "primary"}`}
            disabled={!isReady}
            aria-disabled={isBusy}
          >
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
};
