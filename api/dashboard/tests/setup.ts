// Setup of every component test: Testing Library matchers, and a clean document after each test.
import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

configure({ asyncUtilTimeout: 5_000 }); // CI machines are shared: the default of 1 s is too short under load
afterEach(cleanup);
