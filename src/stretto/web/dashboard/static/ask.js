// Shows the answers of forms with data-ask on the same page.

for (const form of document.querySelectorAll("form[data-ask]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const url = new URL(form.action, location.href);
    for (const [name, value] of new FormData(form)) url.searchParams.set(name, value);
    url.searchParams.set("part", "1");
    const place = form.parentElement.querySelector("[data-answer]");
    place.textContent = "Computing …";
    const response = await fetch(url);
    place.innerHTML = await response.text();
  });
}
