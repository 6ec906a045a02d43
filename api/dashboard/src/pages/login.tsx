// The login page: exchanges the code of a login link for a cookie, or takes a token.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { ApiError, api, done } from "../api";
import { Button } from "../widgets/button";
import { CopyButton } from "../widgets/copy-button";
import { Field } from "../widgets/field";
import "./login.css";

type Secret = { code: string } | { token: string };

export function LoginPage() {
  const queries = useQueryClient();
  const [, go] = useLocation();
  const back = placeOf(new URLSearchParams(useSearch()).get("back"));
  const [entering, setEntering] = useState(() => window.location.hash.length > 1);
  const [problem, setProblem] = useState("");

  const enter = useCallback(
    async (secret: Secret) => {
      setEntering(true);
      setProblem("");
      try {
        await logIn(secret);
        queries.clear();
        go(back, { replace: true });
      } catch (error) {
        setProblem(sentence(error instanceof Error ? error.message : String(error)));
        setEntering(false);
      }
    },
    [queries, go, back],
  );

  useEffect(() => {
    document.title = "Log in · Podium";
  }, []);
  const latest = useRef(enter);
  latest.current = enter;
  useEffect(() => {
    const follow = () => {
      const code = takeCode();
      if (code) void latest.current({ code });
    };
    follow();
    window.addEventListener("hashchange", follow); // opening a link in this tab only changes the hash
    return () => window.removeEventListener("hashchange", follow);
  }, []);

  return (
    <main className="login">
      <div className="login-card">
        <p className="login-brand">
          <img src="/podium.svg" alt="" width={30} height={30} />
          Podium
        </p>
        {entering ? (
          <p className="login-wait" role="status">
            Logging in …
          </p>
        ) : (
          <LoginForm problem={problem} onToken={token => void enter({ token })} />
        )}
      </div>
    </main>
  );
}

function LoginForm({ problem, onToken }: { problem: string; onToken: (token: string) => void }) {
  const [token, setToken] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim()) onToken(token.trim());
  };
  return (
    <>
      <h1>Log in</h1>
      {problem && (
        <p className="login-problem" role="alert">
          {problem}
        </p>
      )}
      <p>On the machine that runs the service, run this command and open the link that it prints:</p>
      <p className="login-command">
        <code>podium login</code>
        <CopyButton text="podium login" what="the command" />
      </p>
      <form onSubmit={submit}>
        <Field
          label="Or paste a token"
          hint={
            <>
              Your own token, or the admin token from <code>admin.token</code> in the data directory.
            </>
          }
        >
          <input
            type="password"
            name="token"
            autoComplete="current-password"
            spellCheck={false}
            value={token}
            onChange={event => setToken(event.target.value)}
          />
        </Field>
        <Button type="submit" primary disabled={!token.trim()}>
          Log in
        </Button>
      </form>
    </>
  );
}

/** The service's message as a sentence. */
function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1).replaceAll("`", "")}.`.replace(/\.\.$/, ".");
}

/** Logs in. An expired code is ignored if a session exists already. Throws `ApiError`. */
async function logIn(secret: Secret): Promise<void> {
  try {
    await done(api.POST("/api/v1/session", { body: secret }));
  } catch (error) {
    const used = "code" in secret && error instanceof ApiError && error.status === 401;
    if (!used || !(await isIn())) throw error;
  }
}

async function isIn(): Promise<boolean> {
  const { response } = await api.GET("/api/v1/session");
  return response.ok;
}

/** The code of the link, which is removed from the address and from the browser's history at once. */
function takeCode(): string {
  const code = window.location.hash.slice(1);
  if (code) window.history.replaceState(null, "", window.location.pathname + window.location.search);
  return code;
}

/** The page to open afterwards: always a path of the dashboard, whatever the address contains. */
export function placeOf(back: string | null): string {
  if (!back?.startsWith("/")) return "/";
  const place = new URL(back, window.location.origin);
  if (place.origin !== window.location.origin || place.pathname === "/login") return "/";
  return place.pathname + place.search;
}
