// A value that has stood still for a moment: what is typed or drawn is asked of the service when the hand rests.
import { useEffect, useState } from "react";

export function useSettled<T>(value: T, afterMs: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), afterMs);
    return () => clearTimeout(timer);
  }, [value, afterMs]);
  return settled;
}
