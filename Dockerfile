# relaxfuzz in a container: a campaign runs code that nobody has reviewed.
#
#   docker build -t relaxfuzz .
#   docker run --rm relaxfuzz doctor
#   mkdir -p out
#   docker run --rm --network none --user "$(id -u)" -v "$PWD/out:/out" relaxfuzz run --time 10m --out /out/campaign
#
# To test a pass of your own, add: -v "$PWD:/home/fuzz/work:ro" -w /home/fuzz/work
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN pip install --no-cache-dir /src && rm -rf /src
# Whoever --user names owns the mounted directory, and must be able to write the caches in the home, too.
RUN useradd --create-home fuzz && mkdir /out && chmod 1777 /out /home/fuzz
ENV HOME=/home/fuzz
USER fuzz
WORKDIR /home/fuzz
ENTRYPOINT ["relaxfuzz"]
CMD ["--help"]
