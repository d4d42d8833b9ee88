// Dialogs with the browser's <dialog>: focus stays inside, Escape closes, and focus returns to where it was.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { tellError } from "../state/notice.ts";
import { Problem } from "./problem.tsx";

export const Dialog = ({
  title,
  onClose,
  children,
  tone = "plain",
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  tone?: "plain" | "stop" | "wide";
}) => {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    element.current?.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog ref={element} class={`dialog dialog-${tone}`} aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId}>{title}</h2>
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
          <button type="submit" class={`button ${isDestructive ? "danger" : "primary"}`} disabled={isBusy || !isReady}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
};
