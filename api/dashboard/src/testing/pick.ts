// Chooses an option of a picker, as a user does: by typing its name.
import userEvent from "@testing-library/user-event";

export async function pick(picker: HTMLElement, name: string): Promise<void> {
  await userEvent.click(picker);
  await userEvent.type(picker, `${name}{Enter}`);
}
