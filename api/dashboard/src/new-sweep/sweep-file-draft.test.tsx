// The draft of a sweep file: changes made in the form are in the text that is submitted.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook } from "@testing-library/react";
import { useDraft } from "./sweep-file-draft";

test("the complete text includes a change that is in flight", async () => {
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

test("a change that depends on the file is computed from the current text, not from what the form shows", async () => {
  globalThis.fetch = vi.fn(async request => {
    const { url } = request as Request;
    const { text, changes } = await (request as Request).json();
    if (url.endsWith("/write")) return Response.json({ text: `warm_start: ${changes[0].value}` });
    return Response.json({ document: { warm_start: JSON.parse(text.slice("warm_start: ".length)) }, numbers: {} });
  });
  const { result } = renderHook(() => useDraft("warm_start: [1]"), {
    wrapper: ({ children }) => <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>,
  });
  const append = (id: number) =>
    result.current.update(({ document }) => [
      { path: ["warm_start"], value: JSON.stringify([...(document.warm_start as number[]), id]) },
    ]);
  let submitted: string | undefined;
  await act(async () => {
    void append(2);
    void append(3); // before the form has seen the 2
    submitted = await result.current.completeText();
  });
  expect(submitted).toBe("warm_start: [1,2,3]");
});

test("text that is typed while a change is in flight is written once, as it is then", async () => {
  const written: string[] = [];
  globalThis.fetch = vi.fn(async request => {
    const { url } = request as Request;
    if (!url.endsWith("/write")) return Response.json({ document: {}, numbers: {} });
    const { changes } = await (request as Request).json();
    written.push(changes[0].value);
    return Response.json({ text: `name: ${changes[0].value} # mine` });
  });
  const { result } = renderHook(() => useDraft("name: d # mine"), {
    wrapper: ({ children }) => <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>,
  });
  await act(async () => {
    for (const value of ["di", "dig", "digi", "digit"]) void result.current.change([{ path: ["name"], value }]);
    await result.current.completeText();
  });
  expect(result.current.text).toBe("name: digit # mine");
  expect(written.length).toBeLessThan(4);
});

test("an update without changes writes nothing", async () => {
  globalThis.fetch = vi.fn(async () => Response.json({ document: {}, numbers: {} }));
  const { result } = renderHook(() => useDraft("run_cap: 24\n"), {
    wrapper: ({ children }) => <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>,
  });
  await act(() => result.current.update(() => []));
  expect(
    vi.mocked(globalThis.fetch).mock.calls.some(([request]) => String((request as Request).url).endsWith("/write")),
  ).toBe(false);
});
