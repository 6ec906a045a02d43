// A dialog on the native <dialog>: it focuses its first field and traps focus; Escape closes it.
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";
import { Button } from "./button";
import { Icon } from "./icon";
import "./dialog.css";

type DialogProps = {
  title: string;
  onClose: () => void;
  onSubmit?: () => void; // Enter in a field, or a button of type "submit"
  children: ReactNode;
  actions?: ReactNode; // the safe action first: without a field, it gets the focus
  wide?: boolean;
};

const FIELDS = "input:not([disabled]), select:not([disabled]), textarea:not([disabled])";

export function Dialog({ title, onClose, onSubmit, children, actions, wide }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed while it is still in the document: only then does the browser restore the previous focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
    const first = element?.querySelector<HTMLElement>(FIELDS) ?? element?.querySelector(".dialog-actions button");
    if (first instanceof HTMLElement) first.focus();
    return () => element?.close();
  }, []);
  const parts = (
    <>
      <header className="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button quiet title="Close" onClick={onClose}>
          <Icon name="close" />
        </Button>
      </header>
      {children}
      {actions && <footer className="dialog-actions">{actions}</footer>}
    </>
  );
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the browser closes it on Escape
    <dialog
      ref={dialog}
      className={wide ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={id}
      onCancel={event => {
        event.preventDefault();
        onClose();
      }}
      onClick={event => event.target === dialog.current && onClose()}
    >
      {onSubmit ? (
        <form
          className="dialog-body"
          noValidate
          onSubmit={event => {
            event.preventDefault();
            onSubmit();
          }}
        >
          {parts}
        </form>
      ) : (
        <div className="dialog-body">{parts}</div>
      )}
    </dialog>
  );
}

type ConfirmProps = {
  title: string;
  children: ReactNode;
  action: string;
  danger?: boolean;
  dismiss?: string;
  run: () => Promise<unknown>;
  onClose: () => void;
};

/** Asks for confirmation; stays open with the error message if the action fails. */
export function Confirm({ title, children, action, danger, dismiss = "Cancel", run, onClose }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const go = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await run();
      onClose();
    } catch (error) {
      setError(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const actions = (
    <>
      <Button onClick={onClose}>{dismiss}</Button>
      <Button command primary danger={danger} busy={busy} type="submit">
        {action}
      </Button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} onSubmit={() => void go()} actions={actions}>
      {children}
      {error && (
        <p role="alert" className="dialog-refused">
          {error}
        </p>
      )}
    </Dialog>
  );
}
