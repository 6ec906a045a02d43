// Buttons, and links styled as buttons.
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Link } from "wouter";
import { NOT_RESPONDING, useConnection } from "../connection-status";
import "./button.css";

type Look = { primary?: boolean; danger?: boolean; quiet?: boolean; small?: boolean };

function classOf({ primary, danger, quiet, small }: Look): string {
  const looks = { primary, danger, quiet, small };
  return [
    "button",
    ...Object.entries(looks)
      .filter(([, on]) => on)
      .map(([look]) => `button-${look}`),
  ].join(" ");
}

type ButtonProps = Look & {
  title?: string;
  busy?: boolean;
  command?: boolean; // changes something on the service: disabled while the service does not answer
  children: ReactNode;
} & ButtonHTMLAttributes<HTMLButtonElement>;

/** A button; an icon-only button takes its accessible name from `title`. */
export function Button({
  primary,
  danger,
  quiet,
  small,
  busy,
  command,
  title,
  children,
  className,
  disabled,
  ...rest
}: ButtonProps) {
  const look = classOf({ primary, danger, quiet, small });
  const { lost } = useConnection();
  const refused = command === true && lost;
  const name = rest["aria-label"] ?? (typeof children === "string" ? undefined : title);
  return (
    <button
      type="button"
      title={refused ? NOT_RESPONDING : title}
      {...rest}
      disabled={disabled || busy || refused}
      aria-busy={busy || undefined}
      aria-label={name}
      className={className ? `${look} ${className}` : look}
    >
      {children}
    </button>
  );
}

export function ButtonLink({ href, children, ...look }: Look & { href: string; children: ReactNode }) {
  return (
    <Link href={href} className={classOf(look)}>
      {children}
    </Link>
  );
}
