// A dialog on the browser's own <dialog>: focus stays in it, Escape closes it.
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";
import { Button } from "./button";
import { Icon } from "./icon";
import "./dialog.css";

type DialogProps = { title: string; onClose: () => void; children: ReactNode; actions?: ReactNode; wide?: boolean };

export function Dialog({ title, onClose, children, actions, wide }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed while it is still in the page: only then does the browser give the focus back to where it was.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, the browser sees to that
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
      <div className="dialog-body">
        <header className="dialog-head">
          <h2 id={id}>{title}</h2>
          <Button quiet title="Close" onClick={onClose}>
            <Icon name="close" />
          </Button>
        </header>
        {children}
        {actions && <footer className="dialog-actions">{actions}</footer>}
      </div>
    </dialog>
  );
}

type ConfirmProps = {
  title: string;
  children: ReactNode;
  action: string;
  danger?: boolean;
  run: () => Promise<unknown>;
  onClose: () => void;
};

/** Asks before something is done; stays open with the reason when it is refused. */
export function Confirm({ title, children, action, danger, run, onClose }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState("");
  const go = async () => {
    setBusy(true);
    try {
      await run();
      onClose();
    } catch (error) {
      setRefused(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const actions = (
    <>
      <Button onClick={onClose}>Back</Button>
      <Button primary danger={danger} busy={busy} onClick={() => void go()}>
        {action}
      </Button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} actions={actions}>
      {children}
      {refused && (
        <p role="alert" className="dialog-refused">
          {refused}
        </p>
      )}
    </Dialog>
  );
}
