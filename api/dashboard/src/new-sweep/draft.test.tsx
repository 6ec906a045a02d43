// The draft of a sweep file: what the form has changed is in the text that is submitted.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook } from "@testing-library/react";
import { useDraft } from "./draft";

test("the whole text waits for a change that is on its way", async () => {
  let answer: (text: string) => void = () => undefined;
  globalThis.fetch = vi.fn(async request => {
    if (!(request as Request).url.endsWith("/write")) return new Promise<Response>(() => undefined);
    const text = await new Promise<string>(resolve => {
      answer = resolve;
    });
    return new Response(JSON.stringify({ text }), { headers: { "content-type": "application/json" } });
  });
  const client = new QueryClient();
  const { result } = renderHook(() => useDraft("run_cap: 24\n"), {
    wrapper: ({ children }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>,
  });
  let submitted: string | undefined;
  const whole = (async () => {
    void result.current.change([{ path: ["run_cap"], value: "8" }]);
    submitted = await result.current.completeText();
  })();
  await vi.waitFor(() => expect(globalThis.fetch).toHaveBeenCalledTimes(2));
  expect(submitted).toBeUndefined();
  await act(async () => {
    answer("run_cap: 8\n");
    await whole;
  });
  expect(submitted).toBe("run_cap: 8\n");
});
