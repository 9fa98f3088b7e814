// An invitation's answer: the name that one chooses goes into the letter which the button opens.

(() => {
  const name = document.getElementById("name"), answer = document.getElementById("answer"), written = answer.href;
  name.addEventListener("input", () => {
    const chosen = name.value.trim().toLowerCase();
    answer.href = chosen && name.checkValidity() ? written.replaceAll("NAME", encodeURIComponent(chosen)) : written;
  });
})();
