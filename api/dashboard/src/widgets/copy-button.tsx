// A button that copies text to the clipboard.
import { useState } from "react";
import { Button } from "./button";
import { Icon } from "./icon";
import { toast } from "./toast";

const SHOWN_MS = 1_500;

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      toast(`The browser denied access to the clipboard. Copy this text: ${text}`, "failed");
      return;
    }
    setDone(true);
    setTimeout(() => setDone(false), SHOWN_MS);
  };
  return (
    <Button quiet small title={`Copy ${what}`} onClick={() => void copy()}>
      <Icon name={done ? "check" : "copy"} size={14} />
    </Button>
  );
}
